"""A WebSocket client and the DevTools protocol on it: enough to drive a Chromium.

It speaks to one local browser that the tests started; it is no client for strangers.
"""

import base64
import json
import os
import queue
import socket
import struct
import threading
import urllib.parse

from wire_message import WireError

ANSWER_S = 60.0
FRAME_BYTES_MAX = 64 << 20


class WebSocket:
    """A connection of text messages."""

    def __init__(self, url):
        parts = urllib.parse.urlsplit(url)
        self._socket = socket.create_connection((parts.hostname, parts.port), timeout=ANSWER_S)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._pending = b""
        self._lock = threading.Lock()
        key = base64.b64encode(os.urandom(16)).decode()
        self._socket.sendall((
            "GET %s HTTP/1.1\r\nHost: %s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            "Sec-WebSocket-Key: %s\r\nSec-WebSocket-Version: 13\r\n\r\n"
            % (parts.path, parts.netloc, key)).encode())
        head = b""
        while b"\r\n\r\n" not in head:
            head += self._more()
        head, self._pending = head.split(b"\r\n\r\n", 1)
        if b" 101 " not in head.split(b"\r\n", 1)[0]:
            raise WireError("no WebSocket: %r" % head[:200])
        self._socket.settimeout(None)

    def _more(self):
        data = self._socket.recv(1 << 16)
        if not data:
            raise WireError("the browser closed the connection")
        return data

    def _take(self, count):
        while len(self._pending) < count:
            self._pending += self._more()
        data, self._pending = self._pending[:count], self._pending[count:]
        return data

    def _frame(self, opcode, payload):
        size = len(payload)
        if size < 126:
            head = struct.pack("!BB", 0x80 | opcode, 0x80 | size)
        elif size < 1 << 16:
            head = struct.pack("!BBH", 0x80 | opcode, 0x80 | 126, size)
        else:
            head = struct.pack("!BBQ", 0x80 | opcode, 0x80 | 127, size)
        mask = os.urandom(4)
        long_mask = (mask * (size // 4 + 1))[:size]
        body = (int.from_bytes(payload, "big") ^ int.from_bytes(long_mask, "big")).to_bytes(size, "big")
        with self._lock:
            self._socket.sendall(head + mask + body)

    def send(self, text):
        self._frame(0x1, text.encode())

    def receive(self):
        """The next text message; raises WireError when the connection is over."""
        whole = b""
        while True:
            first, second = self._take(2)
            size = second & 0x7f
            if size == 126:
                size = struct.unpack("!H", self._take(2))[0]
            elif size == 127:
                size = struct.unpack("!Q", self._take(8))[0]
            if size > FRAME_BYTES_MAX:
                raise WireError("a frame of %d bytes" % size)
            payload = self._take(size)
            opcode = first & 0x0f
            if opcode == 0x8:
                raise WireError("the browser closed the WebSocket")
            if opcode == 0x9:
                self._frame(0xa, payload)
                continue
            whole += payload
            if first & 0x80:
                return whole.decode()

    def close(self):
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # the browser was faster
        self._socket.close()


class DevTools:
    """Commands with their answers, and events to whoever listens."""

    def __init__(self, url):
        self._web = WebSocket(url)
        self._next = 0
        self._answers = {}
        self._listeners = []
        self._lock = threading.Lock()
        self._over = None
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def listen(self, listener):
        """listener(method, params, session) runs on the reading thread: it must not wait."""
        self._listeners.append(listener)

    def _read(self):
        try:
            while True:
                message = json.loads(self._web.receive())
                if "id" in message:
                    with self._lock:
                        waiting = self._answers.pop(message["id"], None)
                    if waiting is not None:
                        waiting.put(message)
                    continue
                for listener in self._listeners:
                    listener(message["method"], message.get("params", {}), message.get("sessionId"))
        except (WireError, OSError, ValueError) as error:
            with self._lock:
                self._over = error
                left = list(self._answers.values())
                self._answers.clear()
            for waiting in left:
                waiting.put({"error": {"message": str(error)}})

    def post(self, method, params=None, session=None):
        """Sends without waiting: for use on the reading thread too."""
        with self._lock:
            self._next += 1
            number = self._next
        message = {"id": number, "method": method, "params": params or {}}
        if session:
            message["sessionId"] = session
        return number, message

    def call(self, method, params=None, session=None, deadline_s=ANSWER_S):
        number, message = self.post(method, params, session)
        waiting = queue.Queue(1)
        with self._lock:
            if self._over is not None:
                raise WireError("the browser is gone: %s" % self._over)
            self._answers[number] = waiting
        self._web.send(json.dumps(message))
        try:
            answer = waiting.get(timeout=deadline_s)
        except queue.Empty:
            raise WireError("no answer to %s" % method) from None
        if "error" in answer:
            raise WireError("%s: %s" % (method, answer["error"].get("message")))
        return answer.get("result", {})

    def send(self, method, params=None, session=None):
        """A command whose answer nobody waits for."""
        self._web.send(json.dumps(self.post(method, params, session)[1]))

    def close(self):
        self._web.close()
        self._thread.join(ANSWER_S)
