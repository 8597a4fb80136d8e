/* A hop written with Go's net/http, as stands before many an API: it reads each request
 * whole, passes it on over kept connections and hands the answer back. It says its address
 * on the first line; nothing here repeats anything: that is for the library. */
package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
)

func fail(w http.ResponseWriter, err error) {
	http.Error(w, err.Error(), http.StatusBadGateway)
}

func main() {
	transport := &http.Transport{}
	hop := func(w http.ResponseWriter, in *http.Request) {
		body, err := io.ReadAll(in.Body)
		if err != nil {
			fail(w, err)
			return
		}
		out, err := http.NewRequest(in.Method, os.Args[1]+in.URL.RequestURI(), bytes.NewReader(body))
		if err != nil {
			fail(w, err)
			return
		}
		out.Header = in.Header.Clone()
		answer, err := transport.RoundTrip(out)
		if err != nil {
			fail(w, err)
			return
		}
		defer answer.Body.Close()
		w.Header().Set("Content-Type", answer.Header.Get("Content-Type"))
		w.WriteHeader(answer.StatusCode)
		io.Copy(w, answer.Body)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Printf("http://%s\n", listener.Addr())
	http.Serve(listener, http.HandlerFunc(hop))
}
