"""Other people's proxies as neighbours of the gateway: nginx and HAProxy as processes
of the test, a wire tap before the gateway, and one honest reading of recorded bytes.

It starts and ends only what it made, and it never decides what Recibo should do.
"""

import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from harness import ROOT, Reader, WireError, answer, free_port, parse_head, wait_until  # noqa: E402

STOP_S = 20.0
START_TRIES = 5
READINGS_MAX = 16
LINKS_MAX = 4096
PATIENCE = "2s"
# HAProxy holds an unfinished body for as long as it waits for the answer to it.
ANSWER_PATIENCE = "8s"
MARK = re.compile(rb"\r\nX-Reached: (\S+) (\S+)\r\n", re.IGNORECASE)
SHARED_NGINX = """
daemon off;
master_process off;
pid %(folder)s/nginx.pid;
error_log %(folder)s/log.txt notice;
events { worker_connections 512; }
http {
access_log off;
client_body_temp_path %(folder)s/body;
proxy_temp_path %(folder)s/proxy;
fastcgi_temp_path %(folder)s/fastcgi;
uwsgi_temp_path %(folder)s/uwsgi;
scgi_temp_path %(folder)s/scgi;
client_header_timeout %(patience)s;
client_body_timeout %(patience)s;
%(text)s
}
"""
SHARED_HAPROXY = """
global
    maxconn 512
defaults
    mode http
    timeout connect 5s
    timeout client %(patience)s
    timeout http-request %(patience)s
    timeout server %(answer)s
    retries 0
frontend api
    bind 127.0.0.1:%(port)d
    http-request set-header X-Forwarded-For %%[src]
    default_backend next
backend next
    server next 127.0.0.1:%(next)d
"""


def fenced(language):
    """The one block of this language in the README."""
    with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as file:
        found = re.findall(r"^```%s\n(.*?)^```" % language, file.read(), re.DOTALL | re.MULTILINE)
    if len(found) != 1:
        raise AssertionError("the README has %d blocks of %s" % (len(found), language))
    return found[0]


def readme_server(port, next_port):
    """The README's nginx front without its TLS, on these ports."""
    text = re.sub(r"listen 443[^;]*;", "listen 127.0.0.1:%d;" % port, fenced("nginx"))
    text = re.sub(r"(?m)^ *ssl_\w+ .*\n", "", text)
    text, changed = re.subn(r"proxy_pass http://127\.0\.0\.1:\d+;",
                            "proxy_pass http://127.0.0.1:%d;" % next_port, text)
    if changed != 1 or "127.0.0.1:%d;" % port not in text:
        raise AssertionError("the README's nginx block has changed its form")
    return text


def plain_server(port, next_port):
    """What most people write before an application, with nginx's own defaults."""
    return ("server { listen 127.0.0.1:%d; location / { proxy_pass http://127.0.0.1:%d; } }"
            % (port, next_port))


def kept_server(port, next_port, members=1):
    """Connections to the next hop are kept, where a request left over would meet the next."""
    member = "server 127.0.0.1:%d max_fails=0;\n" % next_port
    return ("upstream group { %skeepalive 4; }\n"
            "server { listen 127.0.0.1:%d; location / { proxy_http_version 1.1;\n"
            "proxy_set_header Connection \"\"; proxy_pass http://group; } }"
            % (member * members, port))


def two_servers(port, next_port):
    """The next hop twice in a group, so that there is somebody to try next."""
    return kept_server(port, next_port, members=2)


class Proxy:
    """A proxy on a free port of 127.0.0.1, before the port next_port."""

    program = None

    def __init__(self, next_port):
        if shutil.which(self.program) is None:
            raise WireError("%s is not installed" % self.program)
        self.next_port = next_port
        self.folder = tempfile.mkdtemp(prefix="peer-")
        self.path = os.path.join(self.folder, "peer.conf")
        self.log_path = os.path.join(self.folder, "log.txt")
        self.process = None
        for _ in range(START_TRIES):
            if self._start():
                return
        text = self.log()
        self.__exit__()
        raise WireError("%s did not start:\n%s" % (self.program, text[-4000:]))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(STOP_S)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait(STOP_S)
        shutil.rmtree(self.folder, ignore_errors=True)

    def text(self):
        raise NotImplementedError

    def command(self):
        raise NotImplementedError

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as file:
            return file.read()

    def _start(self):
        """One try on one free port; -> does it listen?"""
        self.port = free_port()
        with open(self.path, "w", encoding="utf-8") as file:
            file.write(self.text())
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(self.command(), cwd=self.folder, stdout=log,
                                            stderr=log, stdin=subprocess.DEVNULL)
        wait_until(lambda: self.process.poll() is not None or self._listens(), text=self.log)
        return self.process.poll() is None

    def _listens(self):
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=5).close()
        except OSError:
            return False
        return True


class Nginx(Proxy):
    """nginx as one process; server(port, next_port) is the text of its servers."""

    program = "nginx"

    def __init__(self, next_port, server=kept_server):
        self.server = server
        super().__init__(next_port)

    def text(self):
        return SHARED_NGINX % {"folder": self.folder, "patience": PATIENCE,
                               "text": self.server(self.port, self.next_port)}

    def command(self):
        return ["nginx", "-e", self.log_path, "-p", self.folder, "-c", self.path]


class Haproxy(Proxy):
    """HAProxy with the configuration of docs/operating.md, without TLS."""

    program = "haproxy"

    def text(self):
        return SHARED_HAPROXY % {"patience": PATIENCE, "answer": ANSWER_PATIENCE,
                                 "port": self.port, "next": self.next_port}

    def command(self):
        return ["haproxy", "-db", "-f", self.path]


class Tap:
    """Passes bytes on to a port and keeps what went there, one record a connection."""

    def __init__(self, next_port):
        self.next_port = next_port
        self._lock = threading.Lock()
        self._records, self._socks = [], set()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = self._listener.getsockname()[1]
        self._acceptor = threading.Thread(target=self._accept, daemon=True)
        self._acceptor.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._acceptor.join(STOP_S)
        with self._lock:
            socks = list(self._socks)
        for sock in socks:
            hang_up(sock, socket.SHUT_RDWR)

    def records(self):
        """What each connection carried towards the gateway so far."""
        with self._lock:
            return [bytes(record) for record in self._records]

    def forget(self):
        """Empties the records; connections that stay open go on recording."""
        with self._lock:
            for record in self._records:
                record.clear()

    def _accept(self):
        for _ in range(LINKS_MAX):
            try:
                near, _ = self._listener.accept()
                far = socket.create_connection(("127.0.0.1", self.next_port), timeout=STOP_S)
            except OSError:
                return
            far.settimeout(None)
            record = bytearray()
            with self._lock:
                self._records.append(record)
                self._socks |= {near, far}
            threading.Thread(target=self._pass, args=(near, far, record), daemon=True).start()

    def _pass(self, near, far, record):
        """Both ways of one connection, until both are over."""
        back = threading.Thread(target=self._pump, args=(far, near, None), daemon=True)
        back.start()
        self._pump(near, far, record)
        back.join()
        with self._lock:
            self._socks -= {near, far}
        near.close()
        far.close()

    def _pump(self, source, sink, record):
        while True:
            try:
                data = source.recv(65536)
                if not data:
                    break
                if record is not None:
                    with self._lock:
                        record += data
                sink.sendall(data)
            except OSError:
                break
        hang_up(sink, socket.SHUT_WR)


def hang_up(sock, how):
    """Ends a direction that the other side may have ended already."""
    try:
        sock.shutdown(how)
    except OSError:
        pass


class Recorded:
    """Bytes in the place of a socket, for a Reader."""

    def __init__(self, data):
        self.data = data

    def settimeout(self, _):
        pass

    def recv(self, _):
        data, self.data = self.data, b""
        return data


def readings(data):
    """The whole requests in these bytes as (method, target, body), read as RFC 9112 says,
    up to the first that ends nowhere or could end in two places."""
    reader, found = Reader(Recorded(data)), []
    for _ in range(READINGS_MAX):
        try:
            line, headers = parse_head(reader.until(b"\r\n\r\n"))
            framings = headers.all("Content-Length") + headers.all("Transfer-Encoding")
            if len(framings) > 1:
                break
            body, _ = reader.body(headers)
        except (WireError, ValueError):
            break
        parts = line.lstrip("\r\n").split(" ")
        if len(parts) != 3:
            break
        found.append((parts[0], parts[1], body))
    return found


def told(request):
    """A request that the upstream read, in the form of readings()."""
    return request.method, request.target, request.body


def echo(request):
    """An answer that says which request it answers."""
    return answer(200, [("X-Reached", "%s %s" % (request.method, request.target))], b"ok")
