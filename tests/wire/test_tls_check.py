"""What `recibo check` says of certificates, before anything is served with them."""

import datetime
import json
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from certificates import Authority  # noqa: E402
from harness import BINARY, Case, configuration, main, merge, scratch  # noqa: E402


class Check(Case):
    def setUp(self):
        self.folder = scratch("tls-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.authority = Authority(self.folder)
        self.pair = self.authority.issue()

    def check(self, url="http://127.0.0.1:9", **changes):
        """-> (exit code, errors, warnings), of each finding its path and what it says."""
        path = os.path.join(self.folder, "recibo.yaml")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(configuration(url, changes), file)
        result = subprocess.run([BINARY, "check", "-c", path, "--json"], capture_output=True,
                                text=True, timeout=60, check=False)
        said = json.loads(result.stdout)
        tell = lambda kind: ["%(path)s: %(message)s" % f for f in said[kind]
                             if "tls" in f["path"] or f["path"] == "admin.address"]
        return result.returncode, tell("errors"), tell("warnings")

    def listen(self, **changes):
        return self.check(listen=[{"address": "127.0.0.1:8443",
                                   "tls": merge(self.pair.conf(), changes)}])

    def assert_error(self, seen, path, text):
        code, errors, _ = seen
        self.assertEqual((code, len(errors)), (2, 1), seen)
        self.assertTrue(errors[0].startswith(path + ": "), errors)
        self.assertIn(text, errors[0])

    def assert_warning(self, seen, path, text):
        code, errors, warnings = seen
        self.assertEqual((code, errors, len(warnings)), (0, [], 1), seen)
        self.assertTrue(warnings[0].startswith(path + ": "), warnings)
        self.assertIn(text, warnings[0])

    def test_right(self):
        """Nothing is said of what is right, and relative paths are the file's."""
        self.assertEqual(self.listen(client_ca=self.authority.path), (0, [], []))
        near = os.path.relpath(self.pair.certificate, self.folder)
        self.assertEqual(self.listen(certificate=near), (0, [], []))
        self.assertEqual(self.check("https://h", upstreams={
            "legacy": {"tls": dict(self.pair.conf(), ca=self.authority.path)}}), (0, [], []))

    def test_files(self):
        """Missing files, files of something else, keys that do not fit."""
        where = "listen[0].tls"
        self.assert_error(self.listen(certificate="/none"), where + ".certificate",
                          "/none: the file cannot be opened")
        self.assert_error(self.listen(key="none.key"), where + ".key",
                          "none.key: the file cannot be opened")
        self.assert_error(self.listen(certificate=self.pair.key), where + ".certificate",
                          "holds no certificate")
        self.assert_error(self.listen(key=self.pair.certificate), where + ".key",
                          "holds no private key")
        self.assert_error(self.listen(key=self.authority.issue().key), where + ".key",
                          "not the certificate's")
        self.assert_error(self.listen(client_ca=self.pair.key), where + ".client_ca",
                          "holds no certificate")
        self.assert_error(self.listen(certificates=[{"certificate": self.pair.certificate,
                                                     "key": "/none"}]),
                          where + ".certificates[0].key", "cannot be opened")

    def test_a_key_with_a_password(self):
        """Nobody is at the keyboard: such a key is refused, and nobody is asked."""
        path = self.pair.key + ".locked"
        subprocess.run(["openssl", "ec", "-in", self.pair.key, "-aes128", "-passout", "pass:x",
                        "-out", path], capture_output=True, timeout=60, check=True)
        self.assert_error(self.listen(key=path), "listen[0].tls.key", "without a password")

    def test_warnings(self):
        """Times that are over or not yet come, and a key for everybody's eyes."""
        self.assert_warning(self.listen(**self.authority.expired().conf()),
                            "listen[0].tls.certificate", "expired on ")
        later = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(days=5)
        self.assert_warning(self.listen(**self.authority.issue(from_=later).conf()),
                            "listen[0].tls.certificate", "is not valid before ")
        os.chmod(self.pair.key, 0o644)
        self.assert_warning(self.listen(), "listen[0].tls.key", "chmod o-r")

    def test_operators(self):
        """A public plane needs TLS, and is all right with it."""
        self.assert_error(self.check(admin={"address": "0.0.0.0:8081"}), "admin.address",
                          "add admin.tls")
        self.assertEqual(self.check(admin={"address": "0.0.0.0:8081",
                                           "tls": self.pair.conf()}), (0, [], []))

    def test_it_is_told(self):
        """The promise says what is verified."""
        path = os.path.join(self.folder, "recibo.yaml")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(configuration("https://api.test", {
                "listen": [{"address": "127.0.0.1:1", "tls": dict(
                    self.pair.conf(), client_ca=self.authority.path)}]}), file)
        said = subprocess.run([BINARY, "check", "-c", path], capture_output=True, text=True,
                              timeout=60, check=False).stdout
        self.assertIn("127.0.0.1:1 speaks TLS 1.2 or later; callers may show a certificate", said)
        self.assertIn("must be for api.test and from an authority of this system", said)


if __name__ == "__main__":
    main()
