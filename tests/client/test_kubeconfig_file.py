"""How kubeconfig files are read and merged."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from mooring.client.kubeconfig import load_kubeconfig
from mooring.errors import ConfigError
from tests.client.kubeconfigs import SERVER, document, header, load, write

__all__ = ["load"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("clusters: [", ":2:1: not valid YAML"),
        ("clusters: 5", ":1:11: clusters: must be a list, got 5"),
        (
            "clusters:\n- name: c\n  cluster:\n    certificate-authority-data: '%'",
            ":4:33: clusters[0].cluster.certificate-authority-data: must be base64 text",
        ),
        ("apiVersion: apps/v1\nkind: Deployment", "not a kubeconfig: expected v1 Config"),
        ("users: [{name: a}, {name: a}]", 'users: duplicate name "a" in list'),
        ("", "no configuration has been provided"),
    ],
    ids=["no YAML", "no list", "no base64", "another kind", "twice", "empty"],
)
def test_a_broken_file_is_told_with_its_place(tmp_path: Path, text: str, words: str) -> None:
    file = write(tmp_path / "config", text)
    with pytest.raises(ConfigError) as raised:
        load_kubeconfig(file)
    assert str(raised.value).startswith(str(file))
    assert words in str(raised.value)


def test_fields_of_other_tools_are_passed_over(load: Any) -> None:
    assert load({"x-tool": 1}, {"x-tool": {"a": []}}).server == SERVER


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nothing: cannot read the kubeconfig: No such file"):
        load_kubeconfig(tmp_path / "nothing")


async def test_several_files_are_one_and_the_first_wins(tmp_path: Path) -> None:
    first = document({"token": "first"})
    del first["clusters"], first["current-context"]
    second = document({"token": "second"}, namespace="ignored")
    second["contexts"].append({"name": "y", "context": {"cluster": "c", "user": "u"}})
    second["current-context"] = "y"
    paths = [
        write(tmp_path / "one" / "config", first),
        tmp_path / "missing",
        write(tmp_path / "two" / "config", second),
    ]
    environment = {"KUBECONFIG": os.pathsep.join(map(str, [*paths, "", paths[0]]))}
    connection = load_kubeconfig(environment=environment)
    assert await header(connection) == "Bearer first"
    assert load_kubeconfig(context="x", environment=environment).namespace == "default"


def test_a_variable_whose_files_are_all_missing_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"\$KUBECONFIG names .*missing: no such file"):
        load_kubeconfig(environment={"KUBECONFIG": str(tmp_path / "missing")})


@pytest.mark.parametrize(
    "change",
    [{"kind": "Pod"}, {"apiVersion": "v2"}, {"kind": "Pod", "apiVersion": "v2"}],
    ids=["another kind", "another version", "both"],
)
def test_what_is_no_kubeconfig_is_refused(tmp_path: Path, change: dict[str, str]) -> None:
    body = {**document(), **change}
    found = f"{body['apiVersion']} {body['kind']}"
    with pytest.raises(ConfigError, match=f"expected v1 Config, got {found}"):
        load_kubeconfig(write(tmp_path / "config", body))


def test_kind_and_version_may_be_left_out(tmp_path: Path) -> None:
    body = {name: value for name, value in document().items() if name[0] != "a" and name != "kind"}
    connection = load_kubeconfig(write(tmp_path / "config", body))
    assert connection.server == SERVER
    assert not connection.tls.insecure and connection.compression
