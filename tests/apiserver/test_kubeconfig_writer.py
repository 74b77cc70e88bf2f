from __future__ import annotations

import base64
from pathlib import Path

import yaml

from mooring.apiserver.auth.certificate_authority import Pair
from mooring.apiserver.kubeconfig_writer import write


def test_a_kubeconfig_holds_all_that_a_client_needs(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "config"
    write(path, "https://127.0.0.1:6443", b"authority", Pair(b"certificate", b"key"), "mine")
    config = yaml.safe_load(path.read_text())
    assert config["current-context"] == "mine"
    (context,) = config["contexts"]
    assert context == {"name": "mine", "context": {"cluster": "mine", "user": "mine-admin"}}
    (cluster,), (user,) = config["clusters"], config["users"]
    assert cluster["cluster"]["server"] == "https://127.0.0.1:6443"
    texts = (
        cluster["cluster"]["certificate-authority-data"],
        user["user"]["client-certificate-data"],
        user["user"]["client-key-data"],
    )
    assert [base64.b64decode(one) for one in texts] == [b"authority", b"certificate", b"key"]


def test_only_the_owner_reads_a_kubeconfig(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text("old")
    path.chmod(0o644)
    write(path, "u", b"a", Pair(b"c", b"k"))
    assert path.stat().st_mode & 0o777 == 0o600
    assert yaml.safe_load(path.read_text())["current-context"] == "mooring"
