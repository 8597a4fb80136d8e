"""A gateway whose wall clock the test owns; the monotonic one goes on.

The clock is moved with libfaketime (Debian: faketime). A sanitizer's runtime does not live
together with it: there, and where it is missing, such tests are skipped.
"""

import glob
import os
import re

from guarded import Guarded
from harness import BINARY, Gateway, Upstream, answer, orders, rest, scratch

FAKETIME = sorted(glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1"))
HOUR_S = 3600
DAY_S = 24 * HOUR_S


def clock_can_be_moved():
    """None, or why not."""
    if not FAKETIME:
        return "libfaketime is not installed (apt-get install faketime)"
    with open(BINARY, "rb") as file:
        if re.search(rb"__(asan|tsan)_init", file.read()):
            return "a sanitizer's runtime and libfaketime do not live together"
    return None


class MovedClock(Guarded):
    def start_with_clock(self, route=None, **changes):
        """As start(), with a clock that set_clock() moves."""
        self.directory = scratch()
        self.clock_file = os.path.join(self.directory, "clock")
        self.set_clock(0)
        self.upstream = self.use(Upstream(answer(201, body={"ticket": 1})))
        env = {"LD_PRELOAD": FAKETIME[0], "FAKETIME_TIMESTAMP_FILE": self.clock_file,
               "FAKETIME_NO_CACHE": "1", "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
        routes = [orders(**(route or {})), rest()]
        self.gateway = self.use(Gateway(self.upstream, dict({"routes": routes}, **changes),
                                        env=env))
        return self.gateway

    def set_clock(self, seconds):
        """The gateway's wall clock is so many seconds from the true one, from now on."""
        temporary = self.clock_file + ".new"
        with open(temporary, "w", encoding="utf-8") as file:
            file.write("%+d\n" % seconds)
        os.replace(temporary, self.clock_file)
