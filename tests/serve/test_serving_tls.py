from __future__ import annotations

import hashlib
import ssl
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509

from mooring.errors import ConfigError
from mooring.serve.certificates import common_name, self_signed_pair
from mooring.serve.serving_options import CertKey, SecureServing
from mooring.serve.serving_tls import CIPHER_SUITES, ServingTls
from tests.support.certificates import Authority, KeyPair
from tests.support.key_files import LoadedFiles, loaded_files

__all__ = ["loaded_files"]


def serving_tls(ask: bool = False, authorities: bytes = b"", **settings: object) -> ServingTls:
    made = SecureServing(bind_address="127.0.0.1", **settings)
    return ServingTls(made, ask=ask, authorities=authorities)


def pair_for(folder: Path, host: str) -> CertKey:
    folder.mkdir(exist_ok=True)
    pair = self_signed_pair(host)
    (folder / f"{host}.crt").write_bytes(pair.certificate)
    (folder / f"{host}.key").write_bytes(pair.key)
    return CertKey(str(folder / f"{host}.crt"), str(folder / f"{host}.key"))


def greet(
    tls: ServingTls,
    name: str | None = None,
    *,
    shown: KeyPair | None = None,
    maximum: ssl.TLSVersion | None = None,
) -> tuple[str, ssl.SSLObject, ssl.SSLObject]:
    """Do a handshake in memory; return the server's common name and both ends."""
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname = False
    client.verify_mode = ssl.CERT_NONE
    if maximum is not None:
        client.maximum_version = maximum
    if shown is not None:
        client.load_cert_chain(shown.certificate, shown.key)
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ours = client.wrap_bio(to_client, to_server, server_hostname=name)
    theirs = tls.context.wrap_bio(to_server, to_client, server_side=True)
    waiting = [ours, theirs]
    for _ in range(10):
        for end in list(waiting):
            try:
                end.do_handshake()
                waiting.remove(end)
            except ssl.SSLWantReadError:
                pass
    assert waiting == []
    certificate = x509.load_der_x509_certificate(ours.getpeercert(binary_form=True) or b"")
    return common_name(certificate).partition("@")[0], ours, theirs


def test_without_files_a_certificate_is_made(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    tls = serving_tls()
    assert "Generated self-signed cert in-memory" in caplog.text
    assert greet(tls)[0] == "localhost"


def test_a_key_is_in_no_file_that_others_can_read(
    loaded_files: LoadedFiles, tmp_path: Path
) -> None:
    serving_tls()
    serving_tls(cert_dir=str(tmp_path))
    assert len(loaded_files.paths) >= 4
    loaded_files.assert_private()


def test_a_folder_keeps_the_certificate_made(tmp_path: Path) -> None:
    serving_tls(cert_dir=str(tmp_path))
    assert greet(serving_tls(cert_dir=str(tmp_path)))[0] == "localhost"
    assert {file.name for file in tmp_path.iterdir()} == {
        "kube-scheduler.crt",
        "kube-scheduler.key",
    }


def test_a_certificate_is_made_for_further_hosts(tmp_path: Path) -> None:
    hosts = ("extender.example", "10.0.0.7")
    serving_tls(cert_dir=str(tmp_path), pair_name="mine", hosts=hosts)
    made = x509.load_pem_x509_certificate((tmp_path / "mine.crt").read_bytes())
    names = made.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert "extender.example" in names.get_values_for_type(x509.DNSName)
    assert "10.0.0.7" in map(str, names.get_values_for_type(x509.IPAddress))


def test_the_name_a_client_asks_for_chooses_the_certificate(tmp_path: Path) -> None:
    default = pair_for(tmp_path, "default")
    exact, wild = pair_for(tmp_path, "a.foo.com"), pair_for(tmp_path, "wild")
    tls = serving_tls(
        certificate_file=default.certificate,
        key_file=default.key,
        sni=(CertKey(wild.certificate, wild.key, ("*.foo.com",)), exact),
    )
    assert greet(tls)[0] == "default"
    assert greet(tls, "elsewhere.com")[0] == "default"
    assert greet(tls, "b.foo.com")[0] == "wild"
    assert greet(tls, "x.b.foo.com")[0] == "default"
    assert greet(tls, "a.foo.com")[0] == "a.foo.com"


def test_renewed_files_serve_the_next_connection(tmp_path: Path) -> None:
    files = pair_for(tmp_path, "old")
    tls = serving_tls(certificate_file=files.certificate, key_file=files.key)
    assert tls.renew(b"") is False
    renewed = self_signed_pair("new")
    Path(files.certificate).write_bytes(renewed.certificate)
    assert tls.renew(b"") is False, "certificate and key do not match yet"
    assert greet(tls)[0] == "old"
    Path(files.key).write_bytes(renewed.key)
    assert tls.renew(b"") is True
    assert greet(tls)[0] == "new"


def replace_pair(files: CertKey, host: str) -> None:
    pair = self_signed_pair(host)
    Path(files.certificate).write_bytes(pair.certificate)
    Path(files.key).write_bytes(pair.key)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda file: file.write_bytes(b""),
        lambda file: file.write_bytes(file.read_bytes()[:100]),
        lambda file: file.write_bytes(self_signed_pair("other").certificate),
        lambda file: file.unlink(),
        lambda file: (file.unlink(), file.mkdir()),
        lambda file: (file.unlink(), file.symlink_to(file)),
    ],
    ids=["empty", "half-written", "another's", "deleted", "a folder", "a link to itself"],
)
@pytest.mark.parametrize("what", ["certificate", "key"])
def test_a_file_that_cannot_be_used_changes_nothing_and_is_logged_once(
    tmp_path: Path, spoil: Any, what: str, caplog: pytest.LogCaptureFixture
) -> None:
    files = pair_for(tmp_path, "old")
    tls = serving_tls(certificate_file=files.certificate, key_file=files.key)
    spoil(Path(getattr(files, what)))
    for _ in range(3):
        assert tls.renew(b"") is False
        assert greet(tls)[0] == "old"
    assert len(caplog.records) == 1
    file = Path(getattr(files, what))
    if file.is_dir():
        file.rmdir()
    file.unlink(missing_ok=True)
    replace_pair(files, "new")
    assert tls.renew(b"") is True
    assert greet(tls)[0] == "new"


def mounted(folder: Path) -> CertKey:
    return CertKey(str(folder / "tls.crt"), str(folder / "tls.key"))


def test_a_swapped_link_renews_both_files(tmp_path: Path) -> None:
    """The kubelet updates a mounted Secret so: links into `..data`, which is a link itself."""
    for host in ("old", "new"):
        (tmp_path / host).mkdir()
        pair_for(tmp_path / host, "tls")
        replace_pair(
            CertKey(*(str(tmp_path / host / f"tls.{end}") for end in ("crt", "key"))), host
        )
    data = tmp_path / "..data"
    data.symlink_to("old")
    for end in ("crt", "key"):
        (tmp_path / f"tls.{end}").symlink_to(f"..data/tls.{end}")
    tls = serving_tls(
        certificate_file=str(tmp_path / "tls.crt"), key_file=str(tmp_path / "tls.key")
    )
    assert greet(tls)[0] == "old"
    (tmp_path / "..data_tmp").symlink_to("new")
    (tmp_path / "..data_tmp").rename(data)
    assert tls.renew(b"") is True
    assert greet(tls)[0] == "new"


def test_pairs_are_renewed_each_by_itself(tmp_path: Path) -> None:
    default, other = pair_for(tmp_path, "default"), pair_for(tmp_path, "a.foo.com")
    tls = serving_tls(certificate_file=default.certificate, key_file=default.key, sni=(other,))
    Path(other.key).unlink()
    replace_pair(default, "renewed")
    assert tls.renew(b"") is True
    assert greet(tls)[0] == "renewed"
    assert greet(tls, "a.foo.com")[0] == "a.foo.com"


def test_authorities_are_taken_over_while_a_file_cannot_be_read(tmp_path: Path) -> None:
    one, two = Authority(tmp_path / "one"), Authority(tmp_path / "two")
    files = pair_for(tmp_path, "old")
    tls = serving_tls(
        ask=True,
        authorities=one.certificate.read_bytes(),
        certificate_file=files.certificate,
        key_file=files.key,
    )
    Path(files.key).unlink()
    assert tls.renew(two.certificate.read_bytes()) is True
    greet(tls, shown=two.client("jane"))
    with pytest.raises(ssl.SSLError):
        greet(tls, shown=one.client("jane"))


def test_authorities_that_cannot_be_used_leave_the_old_ones(tmp_path: Path) -> None:
    one = Authority(tmp_path / "one")
    tls = serving_tls(ask=True, authorities=one.certificate.read_bytes())
    assert tls.renew(b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n") is False
    greet(tls, shown=one.client("jane"))


def test_callers_show_a_certificate_if_they_have_one(tmp_path: Path) -> None:
    authority = Authority(tmp_path / "pki")
    tls = serving_tls(ask=True, authorities=authority.certificate.read_bytes())
    assert greet(tls)[2].getpeercert(binary_form=True) is None
    shown = greet(tls, shown=authority.client("jane"))[2].getpeercert(binary_form=True)
    assert shown is not None
    assert common_name(x509.load_der_x509_certificate(shown)) == "jane"


def test_a_certificate_that_nobody_vouches_for_ends_the_handshake(tmp_path: Path) -> None:
    known, stranger = Authority(tmp_path / "one"), Authority(tmp_path / "two")
    tls = serving_tls(ask=True, authorities=known.certificate.read_bytes())
    with pytest.raises(ssl.SSLError):
        greet(tls, shown=stranger.client("jane"))


def test_authorities_that_change_count_for_the_next_connection(tmp_path: Path) -> None:
    one, two = Authority(tmp_path / "one"), Authority(tmp_path / "two")
    tls = serving_tls(ask=True, authorities=one.certificate.read_bytes())
    assert tls.renew(two.certificate.read_bytes()) is True
    greet(tls, shown=two.client("jane"))
    with pytest.raises(ssl.SSLError):
        greet(tls, shown=one.client("jane"))


def test_the_lowest_version_is_kept_to() -> None:
    with pytest.raises(ssl.SSLError):
        greet(serving_tls(min_version="VersionTLS13"), maximum=ssl.TLSVersion.TLSv1_2)
    greet(serving_tls(), maximum=ssl.TLSVersion.TLSv1_2)


def test_cipher_suites_are_kept_to() -> None:
    suite = "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"
    tls = serving_tls(cipher_suites=(suite, "TLS_AES_128_GCM_SHA256"))
    _, ours, _ = greet(tls, maximum=ssl.TLSVersion.TLSv1_2)
    cipher = ours.cipher()
    assert cipher is not None and cipher[0] == CIPHER_SUITES[suite]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"min_version": "foo"}, 'unknown tls version "foo"'),
        ({"cipher_suites": ("foo",)}, "Cipher suite foo not supported or doesn't exist"),
        ({"certificate_file": "/absent"}, "missing filename for serving cert"),
        ({"key_file": "/absent"}, "missing filename for serving cert"),
        (
            {"certificate_file": "/absent", "key_file": "/absent"},
            "open /absent: no such file or directory",
        ),
        (
            {"cipher_suites": ("TLS_ECDHE_RSA_WITH_RC4_128_SHA",)},
            "--tls-cipher-suites: OpenSSL offers none of ECDHE-RSA-RC4-SHA",
        ),
    ],
    ids=str,
)
def test_settings_that_cannot_be_used_are_refused(
    settings: dict[str, object], message: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        serving_tls(**settings)
    assert str(caught.value) == message


def test_files_that_do_not_belong_together_are_refused(tmp_path: Path) -> None:
    one, two = pair_for(tmp_path, "one"), pair_for(tmp_path, "two")
    with pytest.raises(ConfigError, match="tls: private key does not match public key"):
        serving_tls(certificate_file=one.certificate, key_file=two.key)
    Path(one.certificate).write_text("garbage")
    with pytest.raises(ConfigError, match="tls: failed to find any PEM data"):
        serving_tls(certificate_file=one.certificate, key_file=one.key)


def test_the_fingerprint_is_that_of_the_certificate_that_is_shown(tmp_path: Path) -> None:
    for settings in ({}, {"cert_dir": str(tmp_path / "made")}):
        tls = serving_tls(**settings)
        _, ours, _ = greet(tls)
        shown = ours.getpeercert(binary_form=True)
        assert shown is not None
        assert tls.certificate_sha256 == hashlib.sha256(shown).hexdigest()
