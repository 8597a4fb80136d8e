"""Reading HTTP/1.1 messages from a socket, for the test's client and upstream.

It keeps every byte as it came and is lenient on purpose: judging a message is
the business of the test, never of this reader. All reads end by a deadline.
"""

import socket
import time

HEAD_MAX = 4 << 20
BODY_MAX = 256 << 20
DEADLINE_S = 30.0


class WireError(AssertionError):
    """The peer did not send what the test waited for."""


class Closed(WireError):
    """The peer closed; `reset` says how, `partial` holds what came before."""

    def __init__(self, text, partial=b"", reset=False):
        super().__init__(text)
        self.partial = partial
        self.reset = reset


class Headers:
    """Fields in the order and the case in which they came."""

    def __init__(self, pairs=()):
        self.pairs = list(pairs.items()) if isinstance(pairs, dict) else list(pairs)

    def all(self, name):
        return [value for key, value in self.pairs if key.lower() == name.lower()]

    def get(self, name, default=None):
        values = self.all(name)
        return values[0] if values else default

    def __contains__(self, name):
        return bool(self.all(name))

    def __iter__(self):
        return iter(self.pairs)

    def __len__(self):
        return len(self.pairs)

    def __eq__(self, other):
        return self.pairs == list(other)

    def __repr__(self):
        return repr(self.pairs)


def encode_head(first_line, headers):
    lines = [to_bytes(first_line)]
    for name, value in Headers(headers):
        lines.append(to_bytes(name) + b": " + to_bytes(value))
    return b"\r\n".join(lines) + b"\r\n\r\n"


def to_bytes(text):
    return text if isinstance(text, bytes) else str(text).encode("latin-1")


def parse_head(raw):
    """-> (first line, Headers) of a head with or without its blank line."""
    lines = raw.decode("latin-1").split("\r\n")
    pairs = []
    for line in lines[1:]:
        if line:
            name, _, value = line.partition(":")
            pairs.append((name, value.strip(" \t")))
    return lines[0], Headers(pairs)


class Reader:
    """A buffered reader with a deadline for each whole piece."""

    def __init__(self, sock, deadline_s=DEADLINE_S):
        self.sock = sock
        self.deadline_s = deadline_s
        self.buffer = bytearray()

    def _more(self, until):
        left = until - time.monotonic()
        if left <= 0:
            raise WireError("nothing more came in time; so far: %r" % bytes(self.buffer[:400]))
        self.sock.settimeout(left)
        try:
            data = self.sock.recv(65536)
        except socket.timeout:
            raise WireError(
                "nothing more came in time; so far: %r" % bytes(self.buffer[:400])) from None
        except OSError as error:
            raise Closed("the connection was reset: %s" % error, bytes(self.buffer), True) from None
        if not data:
            raise Closed("the connection was closed", bytes(self.buffer))
        self.buffer += data

    def _take(self, count):
        piece = bytes(self.buffer[:count])
        del self.buffer[:count]
        return piece

    def until(self, mark, size_max=HEAD_MAX):
        """Bytes up to and with the mark."""
        deadline, start = time.monotonic() + self.deadline_s, 0
        while True:
            at = self.buffer.find(mark, start)
            if at >= 0:
                return self._take(at + len(mark))
            if len(self.buffer) > size_max:
                raise WireError("no %r in %d bytes" % (mark, size_max))
            start = max(0, len(self.buffer) - len(mark) + 1)
            self._more(deadline)

    def exactly(self, count):
        if count > BODY_MAX:
            raise WireError("a piece of %d bytes is over the harness's limit" % count)
        deadline = time.monotonic() + self.deadline_s
        while len(self.buffer) < count:
            self._more(deadline)
        return self._take(count)

    def to_end(self):
        """All bytes until the peer closes; -> (bytes, was reset)."""
        deadline = time.monotonic() + self.deadline_s
        while True:
            try:
                self._more(deadline)
            except Closed as closed:
                return self._take(len(self.buffer)), closed.reset
            if len(self.buffer) > BODY_MAX:
                raise WireError("the peer sends without end")

    def some(self):
        """At least one byte, whatever is there."""
        if not self.buffer:
            self._more(time.monotonic() + self.deadline_s)
        return self._take(len(self.buffer))

    def at_end(self, within_s=None):
        """True when the peer has closed and sent nothing more."""
        if self.buffer:
            return False
        try:
            self._more(time.monotonic() + (self.deadline_s if within_s is None else within_s))
        except Closed:
            return True
        except WireError:
            return False
        return False

    def chunked(self):
        """-> (body, raw bytes of the chunked body with its trailer)."""
        body, raw = bytearray(), bytearray()
        while True:
            line = self.until(b"\r\n")
            raw += line
            size = int(line.split(b";")[0].strip() or b"z", 16)
            if size == 0:
                break
            piece = self.exactly(size + 2)
            raw += piece
            body += piece[:-2]
            if len(body) > BODY_MAX:
                raise WireError("a chunked body without end")
        while True:
            line = self.until(b"\r\n")
            raw += line
            if line == b"\r\n":
                return bytes(body), bytes(raw)

    def body(self, headers, otherwise="none"):
        """-> (body, raw) as the fields frame it; `otherwise`: none or close."""
        coding = ",".join(headers.all("Transfer-Encoding")).lower()
        if "chunked" in coding:
            return self.chunked()
        length = headers.get("Content-Length")
        if length is not None and length.isdigit():
            whole = self.exactly(int(length))
            return whole, whole
        if otherwise == "close":
            whole, reset = self.to_end()
            if reset:
                raise Closed("the body ended with a reset", whole, True)
            return whole, whole
        return b"", b""
