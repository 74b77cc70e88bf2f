"""Golden pairs: an older file and its v1 form with the warnings, or the errors if it is refused.

`NAME.yaml` (or `.json`) is the older file, `NAME.v1.yaml` its v1 form, `NAME.txt` the warnings that
follow the deprecation, or the errors. `python -m tests.config.convert.test_golden` rewrites them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from mooring.config import load_config_data
from mooring.config.convert import Converted, convert, to_yaml
from mooring.config.convert.schema import args_version, fields_of, root_of
from mooring.config.convert.schema_table import TABLE
from mooring.config.positions import parse
from mooring.framework.features import FeatureGates

GOLDEN = Path(__file__).parent / "golden"
INPUTS = sorted(
    path
    for path in GOLDEN.iterdir()
    if path.suffix in (".yaml", ".json") and not path.name.endswith(".v1.yaml")
)


def read(path: Path) -> Any:
    document = parse(path.read_text(encoding="utf-8"))
    assert document.errors == []
    return document.data


def read_file(name: str) -> str:
    return (GOLDEN / name).read_text(encoding="utf-8")


def read_config_map(namespace: str, name: str) -> dict[str, str]:
    assert (namespace, name) == ("batch", "my-scheduler-policy")
    return {"policy.cfg": read_file("policy.json")}


def convert_golden(path: Path) -> Converted:
    return convert(read(path), read_file=read_file, read_config_map=read_config_map)


def notes(converted: Converted) -> str:
    lines = [str(error) for error in converted.errors] or converted.warnings[1:]
    return "".join(f"{line}\n" for line in lines)


@pytest.mark.parametrize("path", INPUTS, ids=lambda path: path.name)
def test_an_older_file_becomes_its_v1_form(path: Path) -> None:
    converted = convert_golden(path)
    assert notes(converted) == path.with_suffix(".txt").read_text(encoding="utf-8")
    expected = path.with_suffix(".v1.yaml")
    if converted.errors:
        assert converted.doc_v1 == {}
        assert not expected.exists()
        return
    assert to_yaml(converted.doc_v1) == expected.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "path", sorted(GOLDEN.glob("*.v1.yaml")), ids=lambda path: path.name.removesuffix(".v1.yaml")
)
def test_the_v1_form_is_valid_and_converts_to_itself(path: Path) -> None:
    doc = read(path)
    assert convert(doc).doc_v1 == doc
    # The feature gate that VolumeBinding's shape needs, formerly VolumeCapacityPriority.
    gates = FeatureGates.from_text("StorageCapacityScoring=true")
    assert load_config_data(doc, feature_gates=gates).warnings == ()


@pytest.mark.parametrize(
    "path", sorted(GOLDEN.glob("*.v1.yaml")), ids=lambda path: path.name.removesuffix(".v1.yaml")
)
def test_the_deprecation_warning_shows_the_v1_form(path: Path) -> None:
    (source,) = (one for one in INPUTS if one.with_suffix(".v1.yaml") == path)
    first = convert_golden(source).warnings[0]
    head, _, shown = first.partition("\n\n")
    assert "is deprecated" in head
    assert shown == path.read_text(encoding="utf-8")
    assert yaml.safe_load(shown)["apiVersion"] == "kubescheduler.config.k8s.io/v1"


def fields_used(value: Any, kind: str, version: str) -> set[tuple[str, str]]:
    """Return the (type, field) pairs that a document uses."""
    if kind.startswith("[]"):
        return set().union(*(fields_used(item, kind[2:], version) for item in value))
    if kind not in TABLE[version]:
        return set()
    fields = fields_of(version, kind)
    used: set[tuple[str, str]] = set()
    for key, item in value.items():
        used.add((kind, key))
        used |= fields_used(item, fields[key], version)
    if kind == "PluginConfig" and f"{value['name']}Args" in TABLE[args_version(version)]:
        args_kind = f"{value['name']}Args"
        used |= fields_used(value.get("args", {}), args_kind, args_version(version))
    return used


@pytest.mark.parametrize("version", list(TABLE))
def test_the_golden_files_use_every_field_of_the_version(version: str) -> None:
    used: set[tuple[str, str]] = set()
    for path in INPUTS:
        if path.name.startswith(version.lower()):
            used |= fields_used(read(path), root_of(version), version)
    every = {(kind, field) for kind in TABLE[version] for field in fields_of(version, kind)}
    assert every - used == set()


def rewrite() -> None:
    for path in INPUTS:
        converted = convert_golden(path)
        path.with_suffix(".txt").write_text(notes(converted), encoding="utf-8")
        if not converted.errors:
            text = to_yaml(converted.doc_v1)
            path.with_suffix(".v1.yaml").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    rewrite()
