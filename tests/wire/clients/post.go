/* Go's net/http as it is: one client a call. MODE=reused asks for something harmless first,
 * so that the POST goes over a kept connection. One line of JSON for each call says how it
 * ended; nothing here repeats anything: that is for the library. */
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"time"
)

type call struct {
	Base, Key, Token string
	TimeoutMs        int `json:"timeout_ms"`
}

type result struct {
	Call   int    `json:"call"`
	OK     bool   `json:"ok"`
	Status *int   `json:"status"`
	Text   string `json:"text"`
}

func read(response *http.Response, err error) (int, string, error) {
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return response.StatusCode, string(text), err
}

func post(one call) (int, string, error) {
	client := &http.Client{
		Transport: &http.Transport{}, Timeout: time.Duration(one.TimeoutMs) * time.Millisecond}
	if os.Getenv("MODE") == "reused" {
		if _, _, err := read(client.Get(one.Base + "/warm")); err != nil {
			return 0, "", err
		}
	}
	body, err := json.Marshal(map[string]string{"order": one.Token})
	if err != nil {
		return 0, "", err
	}
	request, err := http.NewRequest("POST", one.Base+"/orders", bytes.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	request.Header.Set("Content-Type", "application/json")
	if one.Key != "" {
		request.Header.Set("Idempotency-Key", one.Key)
	}
	return read(client.Do(request))
}

func main() {
	var calls []call
	if err := json.Unmarshal([]byte(os.Getenv("CALLS")), &calls); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	var group sync.WaitGroup
	var lock sync.Mutex
	for index, one := range calls {
		group.Add(1)
		go func(index int, one call) {
			defer group.Done()
			status, text, err := post(one)
			ended := result{Call: index, OK: err == nil && status < 300, Text: text}
			if err != nil {
				ended.Text = err.Error()
			} else {
				ended.Status = &status
			}
			lock.Lock()
			defer lock.Unlock()
			json.NewEncoder(os.Stdout).Encode(ended)
		}(index, one)
	}
	group.Wait()
}
