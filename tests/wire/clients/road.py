"""The road between a client and the gateway: a relay that can be cut for one request.

It reads one request, gives it to the gateway, reads the whole answer, and then does with
the answer what the story says: for the first request of an operation only, every later
one passes. It counts what was asked and what the gateway answered, and never sends a
request a second time.
"""

import select
import socket
import struct
import threading

from harness import Client, Closed, Reader, WireError, parse_head

ANSWER_S = 120.0
PASS, FIN, RESET, HALF, MUTE = "pass", "fin", "reset", "half", "mute"


class Ask:
    """One request as it came, and what the gateway answered: status and headers, or
    None where the client left before there was an answer."""

    def __init__(self, headers, client_gone=False):
        self.headers = headers
        self.client_gone = client_gone
        self.status = self.answer = self.body = None

    def __repr__(self):
        return "<ask %s %r>" % (self.status, self.answer)


class Road:
    """Road(port, token_of, first): token_of(body) -> the operation or None; first(token)
    -> what happens to the answer of an operation's first request."""

    def __init__(self, port, token_of, first):
        self.gateway_port, self.token_of, self.first = port, token_of, first
        self.asks, self.triggers, self.errors = {}, {}, []
        self.changed = threading.Condition()
        self.stopping = threading.Event()
        self.socks = set()
        self.listener = socket.socket()
        self.listener.bind(("127.0.0.1", 0))
        self.listener.listen(256)
        self.port = self.listener.getsockname()[1]
        self.base = "http://127.0.0.1:%d" % self.port
        self.acceptor = threading.Thread(target=self._accept, daemon=True)
        self.acceptor.start()

    def asked(self, token):
        """What was asked for an operation so far, in order."""
        with self.changed:
            return list(self.asks.get(token, ()))

    def when(self, token, count, event, answered=False):
        """Sets the event as soon as so many requests have come, or have their answers."""
        with self.changed:
            self.triggers[token] = (count, event, answered)

    def close(self):
        self.stopping.set()
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.acceptor.join(ANSWER_S)
        with self.changed:
            socks = list(self.socks)
        for sock in socks:
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # its peer went first

    def _accept(self):
        while not self.stopping.is_set():
            try:
                sock, _ = self.listener.accept()
            except OSError:
                return
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self.changed:
                self.socks.add(sock)
            threading.Thread(target=self._serve, args=(sock,), daemon=True).start()

    def _serve(self, sock):
        try:
            with Client(self.gateway_port, timeout=ANSWER_S) as gateway:
                reader = Reader(sock, deadline_s=600.0)
                while self._one(sock, reader, gateway):
                    pass
        except (Closed, OSError):
            pass  # one of the two went; what was asked is on record
        except Exception as error:  # noqa: B902 - shown to the test by its judge
            if not self.stopping.is_set():
                self.errors.append(error)
        finally:
            sock.close()
            with self.changed:
                self.socks.discard(sock)

    def _record(self, token, ask, is_new):
        with self.changed:
            asks = self.asks.setdefault(token, [])
            if is_new:
                asks.append(ask)
            count, event, answered = self.triggers.get(token, (0, None, False))
            if event and sum(not answered or a.status is not None for a in asks) >= count:
                event.set()
            return len(asks) == 1

    def _one(self, sock, reader, gateway):
        head = reader.until(b"\r\n\r\n")
        line, headers = parse_head(head)
        body, raw_body = reader.body(headers)
        token, ask = self.token_of(body), Ask(headers)
        is_first = token is not None and self._record(token, ask, True)
        gateway.send_raw(head + raw_body)
        if not self._wait_answer(sock, gateway):
            ask.client_gone = True
            return False
        answer = gateway.read_response(line.split(" ")[0])
        ask.answer, ask.body, ask.status = answer.headers, answer.body, answer.status
        if token is not None:
            self._record(token, ask, False)
        goes_on = self._pass_on(self.first(token) if is_first else PASS, sock, answer)
        return goes_on and (answer.get("Connection") or "").lower() != "close"

    def _wait_answer(self, sock, gateway):
        """False when the client left first: then the gateway's connection ends, too."""
        watched = [sock, gateway.sock]
        while True:
            readable, _, _ = select.select(watched, [], [], ANSWER_S)
            if gateway.sock in readable:
                return True
            if not readable:
                raise WireError("the gateway does not answer")
            sock.settimeout(ANSWER_S)
            try:
                if not sock.recv(1, socket.MSG_PEEK):
                    return False
            except OSError:
                return False
            watched.remove(sock)  # the next request is there already

    def _pass_on(self, what, sock, answer):
        whole = answer.raw_head + answer.raw_body
        sock.settimeout(ANSWER_S)
        if what == PASS:
            sock.sendall(whole)
            return True
        if what == HALF:
            sock.sendall(whole[:-len(answer.raw_body) // 2])
        if what == RESET:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        if what == MUTE:
            select.select([sock], [], [], ANSWER_S)
        return False
