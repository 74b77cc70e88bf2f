from __future__ import annotations

import datetime
import ipaddress
import os
import stat
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes

from mooring.errors import ConfigError
from mooring.serve.certificates import (
    Authorities,
    authority_in,
    common_name,
    find_or_make_pair,
    fingerprint_of,
    self_signed_pair,
)
from tests.support.certificates import Authority


def test_a_pair_made_for_the_occasion() -> None:
    pair = self_signed_pair("localhost", ["here"], ["127.0.0.1", "127.0.0.1", "::1"])
    certificate, authority = x509.load_pem_x509_certificates(pair.certificate)
    certificate.verify_directly_issued_by(authority)
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["localhost", "here"]
    assert names.get_values_for_type(x509.IPAddress) == [
        ipaddress.ip_address("127.0.0.1"),
        ipaddress.ip_address("::1"),
    ]
    assert common_name(certificate).startswith("localhost@")
    now = datetime.datetime.now(datetime.UTC)
    assert certificate.not_valid_before_utc < now - datetime.timedelta(minutes=59)
    assert certificate.not_valid_after_utc > now + datetime.timedelta(days=364)
    assert pair.key.startswith(b"-----BEGIN EC PRIVATE KEY-----")


def test_a_folders_pair_is_made_once_and_its_key_is_nobody_elses(tmp_path: Path) -> None:
    folder = tmp_path / "certs"
    before = os.umask(0)
    try:
        certificate, key = find_or_make_pair(str(folder), "kube-scheduler", [], ["127.0.0.1"])
    finally:
        os.umask(before)
    assert (certificate, key) == (
        str(folder / "kube-scheduler.crt"),
        str(folder / "kube-scheduler.key"),
    )
    assert stat.S_IMODE(Path(key).stat().st_mode) == 0o600
    made = Path(certificate).read_bytes()
    find_or_make_pair(str(folder), "kube-scheduler", [], ["127.0.0.1"])
    assert Path(certificate).read_bytes() == made


def test_a_folder_that_cannot_be_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(ConfigError, match="error creating self-signed certificates"):
        find_or_make_pair(str(file / "certs"), "kube-scheduler", [], [])


def test_authorities_vouch_for_what_they_signed(tmp_path: Path) -> None:
    one, two = Authority(tmp_path / "one"), Authority(tmp_path / "two")
    shown = x509.load_pem_x509_certificate(one.client("jane").certificate.read_bytes())
    both = one.certificate.read_bytes() + two.certificate.read_bytes()
    assert Authorities(one.certificate.read_bytes()).issued(shown)
    assert Authorities(both).issued(shown)
    assert not Authorities(two.certificate.read_bytes()).issued(shown)
    assert not Authorities()


def test_the_authority_of_a_chain_is_its_last_certificate_if_that_signs_others() -> None:
    chain = self_signed_pair("localhost").certificate
    authority = authority_in(chain)
    assert chain.endswith(authority)
    assert authority != chain
    served = chain.removesuffix(authority)
    assert authority_in(served) == b""
    assert authority_in(b"no certificate") == b""


def test_a_fingerprint_is_that_of_the_first_certificate() -> None:
    pair = self_signed_pair("host")
    first, _ = x509.load_pem_x509_certificates(pair.certificate)
    assert fingerprint_of(pair.certificate) == first.fingerprint(hashes.SHA256()).hex()
