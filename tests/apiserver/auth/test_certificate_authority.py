"""The local cluster's certificate authority and its files."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization

from mooring.apiserver.auth.certificate_authority import Authority, load_key, write_private
from mooring.apiserver.listener import tls
from tests.support.key_files import LoadedFiles, loaded_files

__all__ = ["loaded_files"]


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def open_umask() -> object:
    """Set a umask of 0, so that only the mode given at creation protects a file."""
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.usefixtures("open_umask")
def test_what_is_private_is_its_owners_alone_and_replaces_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "secret"
    write_private(path, b"one")
    assert (path.read_bytes(), mode(path)) == (b"one", 0o600)
    path.chmod(0o644)
    write_private(path, b"two")
    assert (path.read_bytes(), mode(path)) == (b"two", 0o600)
    assert [file.name for file in path.parent.iterdir()] == ["secret"]


def test_a_file_left_by_a_killed_process_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / f".secret.{os.getpid()}").write_text("half")
    write_private(tmp_path / "secret", b"whole")
    assert (tmp_path / "secret").read_bytes() == b"whole"


@pytest.mark.usefixtures("open_umask")
def test_an_authority_outlives_a_restart_and_keeps_its_key_to_itself(tmp_path: Path) -> None:
    first, second = Authority(tmp_path), Authority(tmp_path)
    assert first.pem == second.pem
    assert {file.name: mode(file) for file in tmp_path.iterdir()} == {
        "ca.key": 0o600,
        "ca.crt": 0o600,
    }
    assert Authority().pem != first.pem


def test_a_key_is_made_once(tmp_path: Path) -> None:
    def public(path: Path) -> bytes:
        form = serialization.PublicFormat.SubjectPublicKeyInfo
        return load_key(path).public_key().public_bytes(serialization.Encoding.PEM, form)

    assert public(tmp_path / "one") == public(tmp_path / "one")
    assert public(tmp_path / "one") != public(tmp_path / "two")


def test_the_serving_key_is_in_no_file_that_others_can_read(loaded_files: LoadedFiles) -> None:
    tls(Authority(), "127.0.0.1")
    loaded_files.assert_private()
