"""Comparison with kube-scheduler: what it prints, and the errors it reports."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from mooring.config import load_config_text, to_v1, to_yaml
from mooring.errors import ConfigErrors
from mooring.framework.features import FeatureGates
from mooring.framework.releases import parse_versions

FOLDER = Path(__file__).parent
FILES = {"1.37": FOLDER / "reference.yaml", "1.36": FOLDER / "reference_1_36.yaml"}
CASES: list[tuple[str, dict[str, Any]]] = [
    (release, case)
    for release, file in FILES.items()
    for case in yaml.load(file.read_text(encoding="utf-8"), yaml.CSafeLoader)
]
INVALID = "INVALID "

# If the reference names something that is not in the file, Mooring names what is.
OURS = {
    "profiles[1].schedulerName: Duplicate value: {}": (
        'profiles[1].schedulerName: Duplicate value: "profiles[0].schedulerName"'
    ),
    "profiles[0].plugins.queueSort.Enabled: Invalid value: 2: only one queue sort plugin can be "
    "enabled": (
        "profiles[0].plugins.queueSort.enabled: Invalid value: 2: only one queue sort plugin can "
        "be enabled"
    ),
}


def gates_of(release: str, case: dict[str, Any]) -> FeatureGates:
    return FeatureGates.from_text(case["gates"], parse_versions([release]))


def cases(*, valid: bool) -> list[Any]:
    return [
        pytest.param(case, gates_of(release, case), id=f"{release} {case['name']}")
        for release, case in CASES
        if case["expected"].startswith(INVALID) != valid
    ]


@pytest.mark.parametrize(("case", "gates"), cases(valid=True))
def test_a_valid_configuration_prints_the_same(case: dict[str, Any], gates: FeatureGates) -> None:
    config = load_config_text(case["config"], feature_gates=gates).config
    assert to_yaml(to_v1(config)) == case["expected"]


@pytest.mark.parametrize(("case", "gates"), cases(valid=True))
def test_what_is_printed_loads_to_the_same_configuration(
    case: dict[str, Any], gates: FeatureGates
) -> None:
    printed = to_v1(load_config_text(case["config"], feature_gates=gates).config)
    # Printing is idempotent, except that a second merge puts default plugins first.
    again = to_v1(load_config_text(to_yaml(printed), feature_gates=gates).config)
    for profile in (*printed["profiles"], *again["profiles"]):
        for plugin_set in profile["plugins"].values():
            plugin_set.get("enabled", []).sort(key=lambda plugin: plugin["name"])
    assert again == printed


@pytest.mark.parametrize(("case", "gates"), cases(valid=False))
def test_an_invalid_configuration_is_refused_with_the_same_words(
    case: dict[str, Any], gates: FeatureGates
) -> None:
    with pytest.raises(ConfigErrors) as raised:
        load_config_text(case["config"], feature_gates=gates)
    said = {f"{error.path}: {error.message}" for error in raised.value.errors}
    lines = case["expected"].splitlines()
    assert said == {OURS.get(text, text) for text in (line[len(INVALID) :] for line in lines)}
    assert all(error.line and error.column for error in raised.value.errors)
