from __future__ import annotations

import pytest

from mooring.errors import ConfigError
from mooring.framework.features import FEATURES, FeatureGates, describe_features


@pytest.mark.parametrize(
    ("name", "stage", "default", "locked"),
    [
        ("DynamicResourceAllocation", "GA", True, True),
        ("NodeDeclaredFeatures", "BETA", True, False),
        ("GangScheduling", "ALPHA", False, False),
        ("AllowOverwriteTerminationGracePeriodSeconds", "DEPRECATED", False, True),
        ("CustomCPUCFSQuotaPeriod", "GA", True, False),
        ("WatchListClient", "BETA", True, False),
        ("ContextualLogging", "BETA", True, False),
        ("ComponentFlagz", "BETA", True, False),
    ],
)
def test_the_table_holds_the_gates_of_1_36(
    name: str, stage: str, default: bool, locked: bool
) -> None:
    feature = FEATURES[name]
    assert (feature.stage, feature.default, feature.locked) == (stage, default, locked)
    assert FeatureGates().enabled(name) is default


def test_the_table_is_whole() -> None:
    # The number of features that kube-scheduler's own feature gate reports.
    assert len(FEATURES) == 241
    for feature in FEATURES.values():
        assert set(feature.depends_on) <= set(FEATURES)
    # The defaults must violate no dependency, or no scheduler would start.
    FeatureGates()


def test_gates_are_read_from_text_as_the_flag_is() -> None:
    gates = FeatureGates.from_text("GenericWorkload=true, GangScheduling = T ,,ContextualLogging=0")
    assert gates.enabled("GangScheduling")
    assert gates == FeatureGates(
        {"GenericWorkload": True, "GangScheduling": True, "ContextualLogging": False}
    )
    assert FeatureGates.from_text("kube:GenericWorkload=true") == FeatureGates.from_text(
        "GenericWorkload=true"
    )
    assert FeatureGates.from_text("") == FeatureGates()
    assert hash(FeatureGates.from_text("")) == hash(FeatureGates())


def test_all_alpha_and_all_beta_give_way_to_a_gate_that_is_named() -> None:
    gates = FeatureGates.from_text("StorageCapacityScoring=false,AllAlpha=true")
    assert gates.enabled("GangScheduling")
    assert not gates.enabled("StorageCapacityScoring")
    assert gates.enabled("NodeDeclaredFeatures")
    assert not FeatureGates({"AllBeta": False}).enabled("NodeDeclaredFeatures")


@pytest.mark.parametrize(
    ("text", "error"),
    [
        pytest.param("Nope=true", "unrecognized feature gate: Nope", id="an unknown gate"),
        pytest.param("GangScheduling", "missing bool value for GangScheduling", id="no value"),
        pytest.param(
            "GangScheduling=maybe",
            'invalid value of GangScheduling=maybe, err: strconv.ParseBool: parsing "maybe": '
            "invalid syntax",
            id="no boolean",
        ),
        pytest.param(
            "DynamicResourceAllocation=false",
            "cannot set feature gate DynamicResourceAllocation to false, feature is locked to true",
            id="a locked gate",
        ),
        pytest.param(
            "GangScheduling=true",
            "GangScheduling is enabled, but depends on features that are disabled: "
            "[GenericWorkload]",
            id="a dependency that is off",
        ),
        pytest.param(
            "GangScheduling=true,TopologyAwareWorkloadScheduling=true",
            "[GangScheduling is enabled, but depends on features that are disabled: "
            "[GenericWorkload], TopologyAwareWorkloadScheduling is enabled, but depends on "
            "features that are disabled: [GenericWorkload]]",
            id="two dependencies that are off",
        ),
        pytest.param("other:A=true", "component not registered: other", id="another component"),
        pytest.param(
            "kube:GenericWorkload=true,GangScheduling=true",
            "set kube feature gates with default empty prefix or kube: prefix consistently, "
            "do not mix use",
            id="a mixture of prefixes",
        ),
    ],
)
def test_wrong_gates_are_refused_in_the_words_of_the_reference(text: str, error: str) -> None:
    with pytest.raises(ConfigError) as raised:
        FeatureGates.from_text(text)
    assert str(raised.value) == error


def test_setting_a_gate_that_will_go_away_is_a_warning() -> None:
    (warning,) = FeatureGates({"DynamicResourceAllocation": True}).warnings
    assert warning.startswith("Warning: setting GA feature gate.")
    (warning,) = FeatureGates({"AllowDNSOnlyNodeCSR": True}).warnings
    assert warning.startswith("Warning: setting deprecated feature gate.")
    assert FeatureGates({"GenericWorkload": True}).warnings == ()


def test_a_gate_that_does_not_exist_cannot_be_asked() -> None:
    with pytest.raises(KeyError):
        FeatureGates().enabled("Nope")


def test_help_lists_alpha_and_beta_gates() -> None:
    lines = describe_features()
    assert "GangScheduling=true|false (ALPHA - default=false)" in lines
    assert "AllAlpha=true|false (ALPHA - default=false)" in lines
    assert not any(line.startswith("DynamicResourceAllocation=") for line in lines)
    assert lines == sorted(lines)
