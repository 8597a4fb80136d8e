"""An authority of a test's own, and the certificates that it gives out.

Everything is made anew with the openssl program in a folder of the test, with keys on
an elliptic curve because those are quick to make. It never touches the trust of this
system.
"""

import datetime
import os
import shutil
import ssl
import subprocess

LOCAL = "DNS:localhost,IP:127.0.0.1"
DAY = datetime.timedelta(days=1)
CONFIGURATION = """[ca]
default_ca = own
[own]
dir = .
database = index.txt
serial = serial
new_certs_dir = .
default_md = sha256
policy = any
unique_subject = no
x509_extensions = leaf
[any]
commonName = supplied
[leaf]
basicConstraints = CA:FALSE
%s
"""


def run(directory, *words):
    result = subprocess.run(["openssl", *words], cwd=directory, capture_output=True, text=True,
                            timeout=60, check=False)
    if result.returncode != 0:
        raise AssertionError("openssl %s: %s" % (" ".join(words), result.stderr))
    return result.stdout


def stamp(moment):
    return moment.strftime("%Y%m%d%H%M%SZ")


class Pair:
    """A certificate and its key, as paths."""

    def __init__(self, certificate, key):
        self.certificate, self.key = certificate, key

    def conf(self, **more):
        return dict({"certificate": self.certificate, "key": self.key}, **more)

    def copy_to(self, other):
        """In the place of another pair, one file after the other, as a renewal does."""
        for source, target in ((self.certificate, other.certificate), (self.key, other.key)):
            shutil.copy(source, target + ".new")
            os.replace(target + ".new", target)


class Authority:
    def __init__(self, directory, name="authority"):
        self.directory, self.name = os.path.join(directory, name), name
        self.made = 0
        os.makedirs(self.directory)
        self.path = os.path.join(self.directory, "ca.pem")
        run(self.directory, "req", "-x509", "-newkey", "ec", "-pkeyopt",
            "ec_paramgen_curve:P-256", "-nodes", "-keyout", "ca.key", "-out", "ca.pem", "-days",
            "30", "-subj", "/CN=" + name, "-addext", "keyUsage=critical,keyCertSign,cRLSign")
        with open(os.path.join(self.directory, "index.txt"), "w", encoding="ascii"):
            pass
        with open(os.path.join(self.directory, "serial"), "w", encoding="ascii") as file:
            file.write("1000\n")

    def issue(self, name="localhost", alternatives=LOCAL, from_=None, until=None):
        """-> a Pair. `alternatives` None: a certificate without such names."""
        self.made += 1
        base = "%s-%d" % (name.replace(":", "_"), self.made)
        now = datetime.datetime.now(datetime.timezone.utc)
        with open(os.path.join(self.directory, "ca.cnf"), "w", encoding="ascii") as file:
            file.write(CONFIGURATION % ("subjectAltName = " + alternatives if alternatives else ""))
        run(self.directory, "req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
            "-nodes", "-keyout", base + ".key", "-out", base + ".csr", "-subj", "/CN=" + name)
        run(self.directory, "ca", "-batch", "-config", "ca.cnf", "-cert", "ca.pem", "-keyfile",
            "ca.key", "-in", base + ".csr", "-out", base + ".pem", "-notext",
            "-startdate", stamp(from_ or now - DAY), "-enddate", stamp(until or now + 20 * DAY))
        key = os.path.join(self.directory, base + ".key")
        os.chmod(key, 0o600)
        return Pair(os.path.join(self.directory, base + ".pem"), key)

    def expired(self, **options):
        now = datetime.datetime.now(datetime.timezone.utc)
        return self.issue(from_=now - 3 * DAY, until=now - DAY, **options)

    def trust(self, pair=None, protocols=("http/1.1",)):
        """What a client uses that believes this authority and shows `pair`."""
        context = ssl.create_default_context(cafile=self.path)
        if protocols:
            context.set_alpn_protocols(list(protocols))
        if pair is not None:
            context.load_cert_chain(pair.certificate, pair.key)
        return context


def server(pair, clients=None, version=None, required=True):
    """What a server uses that shows `pair` and, with `clients`, asks for certificates of
    that authority."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair.certificate, pair.key)
    context.set_alpn_protocols(["http/1.1"])
    if clients is not None:
        context.verify_mode = ssl.CERT_REQUIRED if required else ssl.CERT_OPTIONAL
        context.load_verify_locations(clients.path)
    if version is not None:
        context.minimum_version = context.maximum_version = version
    return context
