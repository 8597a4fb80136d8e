"""A raw HTTP/1.1 client over one kept connection.

It sends exactly the bytes that the test asks for, adds nothing but Host and
Content-Length (and those only when they are missing), and never sends again.
"""

import json
import socket
import struct
import threading

from wire_message import DEADLINE_S, Closed, Headers, Reader, WireError, encode_head, parse_head
from wire_message import to_bytes

WITH_LENGTH = ("POST", "PUT", "PATCH")
INTERIM_MAX = 16
PARALLEL_DEADLINE_S = 120.0


class Response:
    """status, reason, version, headers (raw order and case), body, raw_head;
    `interim` holds the 1xx answers that came before."""

    def __init__(self, raw_head, body, raw_body, interim):
        self.raw_head, self.body, self.raw_body = raw_head, body, raw_body
        self.interim = interim
        line, self.headers = parse_head(raw_head)
        parts = line.split(" ", 2)
        if len(parts) < 2 or not parts[1].isdigit():
            raise WireError("not a status line: %r" % line)
        self.version, self.status = parts[0], int(parts[1])
        self.reason = parts[2] if len(parts) > 2 else ""

    def get(self, name, default=None):
        return self.headers.get(name, default)

    def all(self, name):
        return self.headers.all(name)

    def json(self):
        return json.loads(self.body)

    @property
    def text(self):
        return self.body.decode("utf-8", "replace")

    def __repr__(self):
        return "<%s %r %r>" % (self.status, self.headers, self.body[:400])


class Client:
    """Client(8080), Client(("::1", 8080)), or Client("/run/admin.sock"); source: the
    own address to connect from."""

    def __init__(self, address, timeout=DEADLINE_S, tls=None, server_name="localhost",
                 source=None):
        if isinstance(address, int):
            address = ("127.0.0.1", address)
        self.address = address
        if isinstance(address, str):
            self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            self.sock.settimeout(timeout)
            self.sock.connect(address)
            self.host = "localhost"
        else:
            self.sock = socket.create_connection(
                address, timeout=timeout, source_address=(source, 0) if source else None)
            self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            name = "[%s]" % address[0] if ":" in address[0] else address[0]
            self.host = "%s:%d" % (name, address[1])
        if tls is not None:
            self.sock = tls.wrap_socket(self.sock, server_hostname=server_name)
        self.timeout = timeout
        self.reader = Reader(self.sock, timeout)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def encode(self, method, target, headers=(), body=None):
        """The bytes of a request; Host and Content-Length are added when missing."""
        headers = Headers(headers)
        if isinstance(body, (dict, list)):
            body = json.dumps(body).encode()
            if "Content-Type" not in headers:
                headers.pairs.append(("Content-Type", "application/json"))
        body = None if body is None else body.encode() if isinstance(body, str) else bytes(body)
        if "Host" not in headers:
            headers.pairs.insert(0, ("Host", self.host))
        framed = "Content-Length" in headers or "Transfer-Encoding" in headers
        if not framed and (body is not None or method in WITH_LENGTH):
            headers.pairs.append(("Content-Length", str(len(body or b""))))
        line = b" ".join((to_bytes(method), to_bytes(target), b"HTTP/1.1"))
        return encode_head(line, headers) + (body or b"")

    def send(self, method, target, headers=(), body=None):
        self.send_raw(self.encode(method, target, headers, body))

    def send_raw(self, data):
        self.sock.settimeout(self.timeout)
        self.sock.sendall(data)

    def request(self, method, target, headers=(), body=None):
        self.send(method, target, headers, body)
        return self.read_response(method)

    def read_response(self, method="GET"):
        """The next final answer. Closed when the connection ends before it."""
        interim = []
        for _ in range(INTERIM_MAX):
            raw_head = self.reader.until(b"\r\n\r\n")
            response = Response(raw_head, b"", b"", interim)
            if 100 <= response.status < 200 and response.status != 101:
                interim.append(response)
                continue
            if method != "HEAD" and response.status not in (101, 204, 304):
                try:
                    response.body, response.raw_body = self.reader.body(response.headers, "close")
                except Closed as closed:
                    raise Closed("the answer was cut: %s" % closed, raw_head + closed.partial,
                                 closed.reset) from None
            return response
        raise WireError("interim answers without end")

    def read_to_end(self):
        """-> (bytes until the peer closed, whether it was a reset)."""
        return self.reader.to_end()

    def is_closed(self, within_s=None):
        """True when the peer closed without another byte; waits for it."""
        return self.reader.at_end(within_s)

    def half_close(self):
        self.sock.shutdown(socket.SHUT_WR)

    def reset(self):
        """Closes with a reset instead of an orderly end."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.sock.close()

    def close(self):
        try:
            self.sock.close()
        except OSError:
            pass


def fetch(address, method, target, headers=(), body=None, **options):
    """One request on a connection of its own."""
    with Client(address, **options) as client:
        return client.request(method, target, headers, body)


def parallel(count, call, deadline_s=PARALLEL_DEADLINE_S):
    """call(0) .. call(count-1) at once; -> their results in order. The first
    exception is raised again."""
    gate = threading.Barrier(count)
    results, errors = [None] * count, []

    def run(index):
        try:
            gate.wait(deadline_s)
            results[index] = call(index)
        except BaseException as error:  # noqa: B902 - the caller sees it
            errors.append(error)

    threads = [threading.Thread(target=run, args=(i,), daemon=True) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(deadline_s)
        if thread.is_alive():
            raise WireError("a parallel call did not end within %s s" % deadline_s)
    if errors:
        raise errors[0]
    return results
