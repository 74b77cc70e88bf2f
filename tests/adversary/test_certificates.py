"""Certificate files that change while a scheduler runs, with valid and with broken content."""

from __future__ import annotations

import http.client
import shutil
import ssl
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from cryptography import x509

from mooring.serve.certificates import common_name
from tests.support.certificates import Authority, KeyPair
from tests.support.local_up import wait_logged
from tests.support.ports import Ports, Victim
from tests.support.processes import LOOPBACK
from tests.support.waiting import eventually

BROKEN = "Cannot reload serving certificates, keeping the old ones"
BROKEN_AUTHORITY = "Cannot reload client authorities, keeping the old ones"


class Mount:
    """A folder like a Secret that the kubelet mounts: links that are all replaced at once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._number = 0

    def path(self, name: str) -> Path:
        """Return the path of a file."""
        return self._folder / name

    def put(self, files: dict[str, Path]) -> None:
        """Replace all files."""
        self._number += 1
        data = self._folder / f"..{self._number}"
        data.mkdir(parents=True)
        for name, source in files.items():
            shutil.copy(source, data / name)
            if not self.path(name).is_symlink():
                self.path(name).symlink_to(Path("..data", name))
        link = self._folder / "..data_tmp"
        link.symlink_to(data.name)
        link.rename(self._folder / "..data")


@pytest.fixture(scope="module")
def ports(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ports]:
    """Yield an object that starts schedulers, with a local cluster running."""
    ports = Ports(tmp_path_factory.mktemp("ports"))
    try:
        ports.local()
        yield ports
    finally:
        ports.stop()


def served(victim: Victim) -> str:
    """Return the common name of the certificate that the server presents."""
    pem = ssl.get_server_certificate((LOOPBACK, victim.port))
    return common_name(x509.load_pem_x509_certificate(pem.encode()))


def status_of_metrics(victim: Victim, pair: KeyPair) -> int:
    """Return the status of /metrics for a client certificate; 0 if TLS refuses it."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.load_cert_chain(pair.certificate, pair.key)
    connection = http.client.HTTPSConnection(LOOPBACK, victim.port, context=context, timeout=20)
    with closing(connection):
        try:
            connection.request("GET", "/metrics")
            return connection.getresponse().status
        except OSError:
            return 0


def test_the_serving_certificate_is_renewed_whatever_happens_on_the_way(
    ports: Ports, tmp_path: Path
) -> None:
    authority = Authority(tmp_path / "pki")
    first, second, third, fourth = (authority.server(name) for name in ("1", "2", "3", "4"))
    certificate, key = tmp_path / "tls.crt", tmp_path / "tls.key"
    shutil.copy(first.certificate, certificate)
    shutil.copy(first.key, key)
    victim = ports.secure(f"--tls-cert-file={certificate}", f"--tls-private-key-file={key}")
    assert served(victim) == "1"

    # Half-written, then complete but without its key, then deleted: the old one is still served.
    certificate.write_bytes(second.certificate.read_bytes()[:200])
    wait_logged(victim.process, f"{BROKEN}: tls: failed to find any PEM data")
    assert served(victim) == "1"
    shutil.copy(second.certificate, certificate)
    wait_logged(victim.process, f"{BROKEN}: tls: private key does not match public key")
    assert served(victim) == "1"
    certificate.unlink()
    wait_logged(victim.process, f"{BROKEN}: open {certificate}: no such file or directory")
    assert served(victim) == "1" and victim.is_well()

    shutil.copy(second.certificate, certificate)
    shutil.copy(second.key, key)
    eventually(lambda: served(victim) == "2", "the new pair is served")

    # Another file is renamed over it, then a link.
    for pair, name in ((third, "3"), (fourth, "4")):
        for source, place in ((pair.certificate, certificate), (pair.key, key)):
            beside = place.with_suffix(".new")
            beside.symlink_to(source) if name == "4" else shutil.copy(source, beside)
            beside.rename(place)
        eventually(lambda name=name: served(victim) == name, "the new pair is served")
    assert victim.process.log().count(BROKEN) < 10, "a problem that lasts is logged once"
    victim.process.stop()


def test_a_mounted_secret_renews_certificate_and_authority(ports: Ports, tmp_path: Path) -> None:
    one, two = Authority(tmp_path / "one"), Authority(tmp_path / "two")
    masters = ("system:masters",)
    old, new = one.client("jane", masters), two.client("jane", masters)
    mount = Mount(tmp_path / "mount")

    def put(pair: KeyPair, authority: Authority) -> None:
        files = {"tls.crt": pair.certificate, "tls.key": pair.key, "ca.crt": authority.certificate}
        mount.put(files)

    put(one.server("1"), one)
    victim = ports.secure(
        f"--tls-cert-file={mount.path('tls.crt')}",
        f"--tls-private-key-file={mount.path('tls.key')}",
        f"--client-ca-file={mount.path('ca.crt')}",
    )
    assert (served(victim), status_of_metrics(victim, old)) == ("1", 200)
    assert status_of_metrics(victim, new) in (0, 401)
    put(two.server("2"), two)
    eventually(lambda: status_of_metrics(victim, new) == 200, "the new authority counts")
    assert status_of_metrics(victim, old) in (0, 401)
    eventually(lambda: served(victim) == "2", "the new pair is served")

    # If the file contains no authority, the last one stays in use.
    (tmp_path / "empty").touch()
    third = two.server("3")
    files = {"tls.crt": third.certificate, "tls.key": third.key, "ca.crt": tmp_path / "empty"}
    mount.put(files)
    wait_logged(victim.process, BROKEN_AUTHORITY)
    eventually(lambda: served(victim) == "3", "the new pair is served")
    assert status_of_metrics(victim, new) == 200
    victim.process.stop()
