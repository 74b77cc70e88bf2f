"""The custom resources of the plugins of mooring.contrib: their sets and their definitions."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from mooring.errors import ConfigError
from mooring.local import custom_definitions as custom
from tests.support.cluster import Cluster
from tools import crds

NAMES = {
    "scheduling": ["podgroups.scheduling.x-k8s.io", "elasticquotas.scheduling.x-k8s.io"],
    "topology": ["noderesourcetopologies.topology.node.k8s.io"],
    "appgroup": ["appgroups.appgroup.diktyo.x-k8s.io"],
    "networktopology": ["networktopologies.networktopology.diktyo.x-k8s.io"],
    "seccomp": ["seccompprofiles.security-profiles-operator.x-k8s.io"],
}


@pytest.mark.parametrize("name", custom.SETS)
def test_a_set_defines_its_kinds(name: str) -> None:
    found = custom.definitions([name])
    assert [one["metadata"]["name"] for one in found] == NAMES[name]
    assert all(one["kind"] == "CustomResourceDefinition" for one in found)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ()),
        ("topology, scheduling", ("scheduling", "topology")),
        ("seccomp,seccomp", ("seccomp",)),
        ("all", custom.SETS),
        ("scheduling,all", custom.SETS),
    ],
    ids=["nothing", "two sets", "a set twice", "all", "all beside a set"],
)
def test_sets_are_named(text: str, expected: tuple[str, ...]) -> None:
    assert custom.parse_sets(text) == expected


def test_an_unknown_set_is_an_error_that_lists_the_known_ones() -> None:
    with pytest.raises(ConfigError, match=r"no set .* 'gangs'; choose from scheduling, topology"):
        custom.parse_sets("scheduling,gangs")


def test_plugins_need_their_sets() -> None:
    assert custom.sets_for(["NodeName", "NetworkOverhead", "Coscheduling"]) == (
        "scheduling",
        "appgroup",
        "networktopology",
    )
    assert custom.sets_for(["NodeName"]) == ()


def is_established(found: dict[str, Any]) -> bool:
    conditions = found.get("status", {}).get("conditions") or []
    return any(one["type"] == "Established" and one["status"] == "True" for one in conditions)


def test_a_real_api_server_accepts_every_definition(cluster: Cluster) -> None:
    for definition in custom.definitions(custom.SETS):
        cluster.create(definition)
        name = definition["metadata"]["name"]
        cluster.wait_for("CustomResourceDefinition", name, is_established)


def test_the_files_are_what_the_tool_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if shutil.which("go") is None:
        pytest.skip("needs Go")
    monkeypatch.setattr(crds, "TARGET", tmp_path)
    try:
        crds.main()
    except subprocess.CalledProcessError as error:
        pytest.skip(f"the module cannot be had: {error.stderr}")
    for name in custom.SETS:
        assert (tmp_path / f"{name}.yaml").read_text() == custom.definitions_text(name)


@pytest.mark.parametrize("name", custom.SETS)
def test_the_files_for_other_clusters_are_the_same(name: str) -> None:
    deploy = Path(__file__).resolve().parents[2] / "deploy" / "crds"
    assert (deploy / f"{name}.yaml").read_text() == custom.definitions_text(name)
