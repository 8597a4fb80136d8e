"""What a test says to the gateway tests/recibo-trouble: which allocation fails, and what
the disk says to the store's writes. The words lie in a file that both have mapped
(tests/lib/trouble.c); nothing happens before a test asks for it.
"""

import mmap
import os
import struct

from gateway_process import BUILD, Gateway

BINARY = os.path.join(BUILD, "tests", "recibo-trouble")
FIRST, LAST, CALLS, STRUCK, LEAST, SPARED, DISK, DENIED, WORDS = range(9)
NEVER = (1 << 63) - 1
DIGESTS, EVHTTP = 1, 2  # libraries, as tests/lib/trouble.c lists them


class Trouble:
    """The shared words. Made before the gateway starts; closed behind it."""

    def __init__(self, directory):
        self.path = os.path.join(directory, "trouble")
        with open(self.path, "wb") as file:
            file.write(bytes(8 * WORDS))
        with open(self.path, "r+b") as file:
            self.words = mmap.mmap(file.fileno(), 8 * WORDS)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.words.close()

    def get(self, word):
        return struct.unpack_from("=Q", self.words, 8 * word)[0]

    def set(self, word, value):
        struct.pack_into("=Q", self.words, 8 * word, value)

    def fail(self, first, count=1, least=0):
        """From now on the first-th allocation of at least so many bytes fails, and the next
        ones up to `count`."""
        self.set(FIRST, 0)
        self.set(LEAST, least)
        self.set(LAST, first + count - 1)
        self.set(CALLS, 0)
        self.set(STRUCK, 0)
        self.set(FIRST, first)

    def spare(self, *libraries):
        """Libraries that do not live on without memory get what they ask for."""
        self.set(SPARED, sum(libraries))

    def count(self):
        """From now on allocations are counted, and none fails."""
        self.fail(NEVER)

    def relent(self):
        """There is memory again; -> how many allocations have failed."""
        self.set(FIRST, 0)
        return self.struck

    @property
    def calls(self):
        return self.get(CALLS)

    @property
    def struck(self):
        return self.get(STRUCK)

    def deny(self, number):
        """Every write to the store fails with this errno from now on; 0: none does."""
        self.set(DISK, number)

    @property
    def denied(self):
        return self.get(DENIED)


def troubled(upstream, changes, directory):
    """A Gateway with words of its own in gateway.trouble; not started."""
    gateway = Gateway(upstream, changes, start=False, binary=BINARY, directory=directory)
    gateway.owns_directory = True
    gateway.trouble = Trouble(directory)
    gateway.env["RECIBO_TROUBLE"] = gateway.trouble.path
    return gateway
