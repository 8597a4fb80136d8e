"""A scripted upstream on a real socket.

It counts what was wholly read (`sends`) and keeps every byte. What it does next
is an action: a function of the exchange that returns True to keep the connection
and False to close it. Actions come, in this order, from `on_request` (a callable
that gets the request and returns an action or None), from the queue (`script`),
and from `default`. It never decides what is right: that is for the test.
"""

import collections
import json
import socket
import struct
import threading
import time

from wire_message import DEADLINE_S, Closed, Headers, Reader, WireError, encode_head, parse_head
from wire_message import to_bytes

REASONS = {100: "Continue", 200: "OK", 201: "Created", 202: "Accepted", 204: "No Content",
           302: "Found", 304: "Not Modified", 400: "Bad Request", 401: "Unauthorized",
           404: "Not Found", 409: "Conflict", 429: "Too Many Requests",
           500: "Internal Server Error", 502: "Bad Gateway", 503: "Service Unavailable"}
CONNECTIONS_MAX = 4096
BACKLOG_TRIES = 16


class Received:
    """One request as it came: method, target, path, headers, body, raw_head,
    raw_body, key (Idempotency-Key or None), connection (its number), index."""

    def __init__(self, raw_head, connection):
        self.raw_head, self.connection = raw_head, connection
        self.body = self.raw_body = b""
        self.index = None
        line, self.headers = parse_head(raw_head)
        parts = line.split(" ")
        self.method = parts[0]
        self.target = parts[1] if len(parts) > 1 else ""
        self.path = self.target.split("?")[0]
        self.key = self.headers.get("Idempotency-Key")

    def get(self, name, default=None):
        return self.headers.get(name, default)

    def all(self, name):
        return self.headers.all(name)

    def json(self):
        return json.loads(self.body)

    @property
    def raw(self):
        return self.raw_head + self.raw_body

    def __repr__(self):
        return "<%s %s key=%s %d bytes>" % (self.method, self.target, self.key, len(self.body))


class Exchange:
    """What an action works on: the request and its connection."""

    def __init__(self, upstream, sock, reader, request):
        self.upstream, self.sock, self.reader, self.request = upstream, sock, reader, request

    def send(self, data):
        self.sock.settimeout(DEADLINE_S)
        self.sock.sendall(data)

    def reset(self):
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        return False


# ---- actions ----

def encode_answer(status, headers=(), body=b"", reason=None, length=True):
    headers = Headers(headers)
    body = json.dumps(body).encode() if isinstance(body, (dict, list)) else to_bytes(body)
    framed = "Content-Length" in headers or "Transfer-Encoding" in headers
    if length and not framed and status >= 200 and status not in (204, 304):
        headers.pairs.append(("Content-Length", str(len(body))))
    line = "HTTP/1.1 %d %s" % (status, REASONS.get(status, "Status") if reason is None else reason)
    return encode_head(line, headers) + body


def answer(status=200, headers=(), body=b"", reason=None, close=False):
    """A whole answer with its Content-Length; body may be a dict or a list (JSON)."""
    def act(exchange):
        sent = body
        if exchange.request.method == "HEAD":
            pairs = Headers(headers)
            data = encode_answer(status, pairs, b"", reason, length=False)
        else:
            data = encode_answer(status, headers, sent, reason)
        exchange.send(data)
        return not close
    return act


def raw(data, close=True):
    """Exactly these bytes."""
    def act(exchange):
        exchange.send(data)
        return not close
    return act


def interim(status, headers=(), then=None):
    """A 1xx answer, then another action."""
    def act(exchange):
        exchange.send(encode_answer(status, headers))
        return (then or answer())(exchange)
    return act


def wait(event, then=None, deadline_s=DEADLINE_S * 4):
    """Holds the answer until the test sets the threading.Event, then acts."""
    def act(exchange):
        until = time.monotonic() + deadline_s
        while not event.wait(0.05):
            if exchange.upstream.stopping.is_set():
                return False
            if time.monotonic() > until:
                raise WireError("the event of wait() was never set")
        return (then or answer())(exchange)
    return act


def delay(seconds, then=None):
    """Acts after a time, for what the gateway measures itself (its timeouts)."""
    def act(exchange):
        if exchange.upstream.stopping.wait(seconds):
            return False
        return (then or answer())(exchange)
    return act


def hang(peer_closed=None):
    """Never answers: holds the connection until the peer closes (then sets the
    event) or the upstream stops. What still comes is read and dropped."""
    def act(exchange):
        exchange.sock.settimeout(0.1)
        while not exchange.upstream.stopping.is_set():
            try:
                if not exchange.sock.recv(65536):
                    break
            except socket.timeout:
                continue
            except OSError:
                break
        if peer_closed is not None:
            peer_closed.set()
        return False
    return act


def stall():
    """Reads and sends nothing more, and keeps the connection until the upstream stops."""
    def act(exchange):
        exchange.upstream.stopping.wait()
        return False
    return act


def reset(after=b""):
    """A reset, after the given bytes of an answer."""
    def act(exchange):
        if after:
            exchange.send(after)
        return exchange.reset()
    return act


def fin(after=b""):
    """An orderly close without (the rest of) an answer."""
    def act(exchange):
        if after:
            exchange.send(after)
        return False
    return act


def cut(count, status=200, headers=(), body=b"", with_reset=False):
    """The answer breaks off `count` bytes into its body; a negative count leaves
    that many bytes of the body away."""
    def act(exchange):
        whole = encode_answer(status, headers, body)
        head_len = whole.index(b"\r\n\r\n") + 4
        end = head_len + count if count >= 0 else len(whole) + count
        exchange.send(whole[:end])
        return exchange.reset() if with_reset else False
    return act


def chunked(pieces, status=200, headers=(), trailer=b"", end=True, close=False):
    """A chunked answer, one chunk a piece; end=False leaves the last chunk away."""
    def act(exchange):
        fields = Headers(headers)
        fields.pairs.append(("Transfer-Encoding", "chunked"))
        exchange.send(encode_answer(status, fields))
        for piece in pieces:
            exchange.send(b"%x\r\n%s\r\n" % (len(piece), piece))
        if end:
            exchange.send(b"0\r\n" + trailer + b"\r\n")
        return end and not close
    return act


def dribble(data, size=1, pause_s=0.0, close=False):
    """The bytes in small writes, each a segment of its own."""
    def act(exchange):
        for at in range(0, len(data), size):
            exchange.send(data[at:at + size])
            if pause_s and exchange.upstream.stopping.wait(pause_s):
                return False
        return not close
    return act


def close_delimited(status=200, headers=(), body=b""):
    """An answer without a length, ended by the close."""
    def act(exchange):
        exchange.send(encode_answer(status, headers, body, length=False))
        return False
    return act


class FullBacklog:
    """A listener whose queue is full: whoever connects now waits for ever."""

    def __init__(self):
        self._listener = socket.socket()
        self._listener.bind(("127.0.0.1", 0))
        self._listener.listen(0)
        self.port = self._listener.getsockname()[1]
        self.url = "http://127.0.0.1:%d" % self.port
        self._waiting = []
        for _ in range(BACKLOG_TRIES):
            if not self._one_more_fits():
                return
        raise WireError("the queue of a listener has no end")

    def _one_more_fits(self):
        sock = socket.socket()
        self._waiting.append(sock)
        sock.settimeout(0.2)
        try:
            sock.connect(("127.0.0.1", self.port))
        except socket.timeout:
            return False
        return True

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for sock in (self._listener, *self._waiting):
            sock.close()


# ---- the upstream ----

class Upstream:
    """Listens on 127.0.0.1 and a free port as soon as it is made.

    on_connect(number): may return "reset" or "close" to end a connection at once.
    on_head(request): runs when the head is read and before the body; may return
    an action, which is then taken without reading the body (early answers, and
    hang() for a peer that stops reading)."""

    def __init__(self, default=None, host="127.0.0.1", tls=None, send_continue=True):
        self.default = default or answer(200, body=b"ok")
        self.host, self.tls, self.send_continue = host, tls, send_continue
        self.on_connect = self.on_head = self.on_request = None
        self.requests, self.heads, self.errors = [], [], []
        self.connections = self.open = 0
        self.stopping = threading.Event()
        self._queue = collections.deque()
        self._changed = threading.Condition()
        self._socks = set()
        self._listener = None
        self.port = 0
        self.listen_again()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    @property
    def url(self):
        name = "[%s]" % self.host if ":" in self.host else self.host
        return "%s://%s:%d" % ("https" if self.tls else "http", name, self.port)

    # what came

    @property
    def sends(self):
        """Requests that were wholly read."""
        with self._changed:
            return len(self.requests)

    def select(self, path=None, key=None, method=None, body=None):
        with self._changed:
            return [r for r in self.requests
                    if (path is None or r.path == path) and (key is None or r.key == key)
                    and (method is None or r.method == method) and (body is None or r.body == body)]

    def sends_by_key(self, key):
        return len(self.select(key=key))

    def sends_by_path(self, path):
        return len(self.select(path=path))

    @property
    def last(self):
        with self._changed:
            return self.requests[-1] if self.requests else None

    def wait_for(self, sends, deadline_s=DEADLINE_S):
        """Blocks until so many requests were wholly read; -> the requests."""
        return self._wait(lambda: len(self.requests) >= sends, deadline_s,
                          lambda: "%d of %d sends came" % (len(self.requests), sends))

    def wait_heads(self, count, deadline_s=DEADLINE_S):
        self._wait(lambda: len(self.heads) >= count, deadline_s,
                   lambda: "%d of %d heads came" % (len(self.heads), count))

    def wait_open(self, count, deadline_s=DEADLINE_S):
        """Blocks until exactly so many connections are open."""
        self._wait(lambda: self.open == count, deadline_s,
                   lambda: "%d connections are open, not %d" % (self.open, count))

    def _wait(self, condition, deadline_s, text):
        with self._changed:
            if not self._changed.wait_for(condition, deadline_s):
                raise WireError(text())
            return list(self.requests)

    # what to do

    def script(self, *actions):
        """Adds actions to the queue: one a request, in the order they are read."""
        with self._changed:
            self._queue.extend(actions)

    def forget(self):
        """Drops the queue and what was recorded."""
        with self._changed:
            self._queue.clear()
            self.requests, self.heads = [], []

    def refuse(self):
        """Closes the listener: connects are refused until listen_again()."""
        listener, self._listener = self._listener, None
        if listener is not None:
            listener.shutdown(socket.SHUT_RDWR)
            listener.close()
            self._acceptor.join(DEADLINE_S)

    def listen_again(self):
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((self.host, self.port))
        listener.listen(512)
        self.port = listener.getsockname()[1]
        self._listener = listener
        self._acceptor = threading.Thread(target=self._accept, args=(listener,), daemon=True)
        self._acceptor.start()

    def drop_connections(self, with_reset=False):
        """Closes every open connection, as an upstream that restarts does."""
        with self._changed:
            socks = list(self._socks)
        for sock in socks:
            try:
                if with_reset:
                    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def stop(self):
        self.stopping.set()
        self.refuse()
        self.drop_connections()

    # threads

    def _accept(self, listener):
        while not self.stopping.is_set():
            try:
                sock, _ = listener.accept()
            except OSError:
                return
            with self._changed:
                if self.open >= CONNECTIONS_MAX:
                    sock.close()
                    continue
                self.connections += 1
                number = self.connections
                self.open += 1
                self._socks.add(sock)
                self._changed.notify_all()
            threading.Thread(target=self._serve, args=(sock, number), daemon=True).start()

    def _serve(self, plain, number):
        sock = plain
        try:
            verdict = self.on_connect(number) if self.on_connect else None
            if verdict == "reset":
                plain.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            if verdict in ("reset", "close"):
                return
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self.tls is not None:
                sock = self._shake_hands(plain)
            reader = Reader(sock, deadline_s=600.0)
            while self._one(sock, reader, number):
                pass
        except (Closed, OSError):
            pass  # the peer went; what it had sent is on record
        except Exception as error:  # noqa: B902 - shown to the test by check()
            if not self.stopping.is_set():
                self.errors.append(error)
        finally:
            try:
                sock.close()
            except OSError:
                pass
            with self._changed:
                self.open -= 1
                self._socks -= {plain, sock}
                self._changed.notify_all()

    def _shake_hands(self, plain):
        plain.settimeout(DEADLINE_S)
        sock = self.tls.wrap_socket(plain, server_side=True)
        with self._changed:
            self._socks.add(sock)
        return sock

    def check(self):
        """Raises what went wrong in a connection's thread, if anything did."""
        if self.errors:
            raise self.errors[0]

    def _one(self, sock, reader, number):
        request = Received(reader.until(b"\r\n\r\n"), number)
        exchange = Exchange(self, sock, reader, request)
        with self._changed:
            self.heads.append(request)
            self._changed.notify_all()
        early = self.on_head(request) if self.on_head else None
        if early is not None:
            return early(exchange)
        if self.send_continue and (request.get("Expect") or "").lower() == "100-continue":
            exchange.send(encode_answer(100))
        request.body, request.raw_body = reader.body(request.headers)
        with self._changed:
            request.index = len(self.requests)
            self.requests.append(request)
            self._changed.notify_all()
        action = self.on_request(request) if self.on_request else None
        with self._changed:
            if action is None and self._queue:
                action = self._queue.popleft()
        keep = (action or self.default)(exchange)
        return keep and (request.get("Connection") or "").lower() != "close"
