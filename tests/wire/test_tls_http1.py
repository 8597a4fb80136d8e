"""The tables of raw requests and raw answers once more, through TLS: nothing of what is
accepted, refused or left in doubt may change with the transport.
"""

import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import test_raw_requests  # noqa: E402
import test_upstream_answers  # noqa: E402
from certificates import Authority, server  # noqa: E402
from harness import Client, Upstream, main, scratch  # noqa: E402


class TlsUpstream(Upstream):
    """Says goodbye before it closes, so that an end of it is an end."""

    def _one(self, sock, reader, number):
        goes_on = super()._one(sock, reader, number)
        if not goes_on:
            sock.settimeout(30)
            sock.unwrap()
        return goes_on


def make_authority(case):
    folder = scratch("tls-")
    case.addCleanup(shutil.rmtree, folder, ignore_errors=True)
    return Authority(folder)


class Requests(test_raw_requests.RawRequests):
    def start(self, *words, **options):
        authority = make_authority(self)
        trust = authority.trust()
        super().start(*words, listen=[{"tls": authority.issue().conf()}], **options)
        self.gateway.client = lambda **more: Client(self.gateway.port, tls=trust, **more)


class Answers(test_upstream_answers.UpstreamAnswers):
    def begin(self, soon):
        authority = make_authority(self)
        upstream = self.use(TlsUpstream(tls=server(authority.issue())))
        settings = dict(test_upstream_answers.SOON if soon else {}, tls={"ca": authority.path})
        self.start(routes=[test_upstream_answers.orders(breaker="none"),
                           test_upstream_answers.rest()], upstream=settings, url=upstream.url)
        self.upstream = upstream


if __name__ == "__main__":
    main()
