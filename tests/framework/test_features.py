from __future__ import annotations

import pytest

from mooring.errors import ConfigError
from mooring.framework.features import FeatureGates, describe_features, features_of
from mooring.framework.releases import RELEASES, V1_36, EffectiveVersion, Release, parse_versions


@pytest.mark.parametrize(
    ("name", "stage", "default", "locked"),
    [
        ("DynamicResourceAllocation", "GA", True, True),
        ("NodeDeclaredFeatures", "GA", True, True),
        ("GenericWorkload", "BETA", False, False),
        ("CompositePodGroup", "ALPHA", False, False),
        ("StorageCapacityScoring", "BETA", True, False),
        ("DRAFractionalCapacityRange", "BETA", False, False),
        ("AllowOverwriteTerminationGracePeriodSeconds", "DEPRECATED", False, True),
        ("CustomCPUCFSQuotaPeriod", "GA", True, False),
        ("WatchListClient", "BETA", True, False),
        ("ContextualLogging", "BETA", True, False),
        ("ComponentFlagz", "BETA", True, False),
    ],
)
def test_the_table_holds_the_gates_of_the_reference(
    name: str, stage: str, default: bool, locked: bool
) -> None:
    feature = features_of()[name]
    assert (feature.stage, feature.default, feature.locked) == (stage, default, locked)
    assert FeatureGates().enabled(name) is default


@pytest.mark.parametrize(
    ("name", "stage", "default", "locked"),
    [
        ("NodeDeclaredFeatures", "BETA", True, False),
        ("GangScheduling", "ALPHA", False, False),
        ("GenericWorkload", "ALPHA", False, False),
        ("StorageCapacityScoring", "ALPHA", False, False),
        ("SchedulerQueueingHints", "GA", True, True),
        ("CompositePodGroup", "PRE-ALPHA", False, False),
    ],
)
def test_the_gates_of_1_36_are_those_of_its_own_table(
    name: str, stage: str, default: bool, locked: bool
) -> None:
    feature = features_of(parse_versions(["1.36"]))[name]
    assert (feature.stage, feature.default, feature.locked) == (stage, default, locked)
    assert FeatureGates(None, parse_versions(["1.36"])).enabled(name) is default


# As many as kube-scheduler itself has.
@pytest.mark.parametrize(("release", "count"), list(zip(RELEASES, (241, 253), strict=True)))
def test_the_table_is_whole(release: Release, count: int) -> None:
    version = parse_versions([release.version])
    gates = {
        name: feature
        for name, feature in features_of(version).items()
        if feature.stage != "PRE-ALPHA"
    }
    assert len(gates) == count
    for feature in gates.values():
        assert set(feature.depends_on) <= set(gates)
    # The defaults break no dependency; otherwise no scheduler could start.
    assert FeatureGates(None, version).release is release


def test_a_gate_may_depend_on_the_minimum_compatibility_version() -> None:
    compatible = parse_versions([], ["1.37"])
    assert FeatureGates(None, compatible).enabled("DRAFractionalCapacityRange")


def test_gates_are_read_from_text_as_the_flag_is() -> None:
    gates = FeatureGates.from_text(
        "GenericWorkload=true, WorkloadWithJob = T ,,ContextualLogging=0"
    )
    assert gates.enabled("WorkloadWithJob")
    assert gates == FeatureGates(
        {"GenericWorkload": True, "WorkloadWithJob": True, "ContextualLogging": False}
    )
    assert FeatureGates.from_text("kube:GenericWorkload=true") == FeatureGates.from_text(
        "GenericWorkload=true"
    )
    assert FeatureGates.from_text("") == FeatureGates()
    assert hash(FeatureGates.from_text("")) == hash(FeatureGates())
    assert FeatureGates(None, EffectiveVersion(V1_36, (1, 35))) != FeatureGates()


def test_all_alpha_and_all_beta_give_way_to_a_gate_that_is_named() -> None:
    gates = FeatureGates.from_text("AllBeta=true,PodGroupPreemptionPolicy=false,AllAlpha=true")
    assert gates.enabled("CompositePodGroup")
    assert not gates.enabled("PodGroupPreemptionPolicy")
    assert gates.enabled("NodeDeclaredFeatures")
    assert not FeatureGates({"AllBeta": False}).enabled("StorageCapacityScoring")


@pytest.mark.parametrize(
    ("text", "error"),
    [
        pytest.param("Nope=true", "unrecognized feature gate: Nope", id="an unknown gate"),
        pytest.param(
            "GangScheduling=true", "unrecognized feature gate: GangScheduling", id="a removed gate"
        ),
        pytest.param("GenericWorkload", "missing bool value for GenericWorkload", id="no value"),
        pytest.param(
            "GenericWorkload=maybe",
            'invalid value of GenericWorkload=maybe, err: strconv.ParseBool: parsing "maybe": '
            "invalid syntax",
            id="no boolean",
        ),
        pytest.param(
            "DynamicResourceAllocation=false",
            "cannot set feature gate DynamicResourceAllocation to false, feature is locked to true",
            id="a locked gate",
        ),
        pytest.param(
            "NodeDeclaredFeatures=false",
            "cannot set feature gate NodeDeclaredFeatures to false, feature is locked to true",
            id="a gate that 1.37 locked",
        ),
        pytest.param(
            "TopologyAwareWorkloadScheduling=true",
            "TopologyAwareWorkloadScheduling is enabled, but depends on features that are "
            "disabled: [GenericWorkload]",
            id="a dependency that is off",
        ),
        pytest.param(
            "PodGroupPreemptionPolicy=true,TopologyAwareWorkloadScheduling=true",
            "[PodGroupPreemptionPolicy is enabled, but depends on features that are disabled: "
            "[GenericWorkload], TopologyAwareWorkloadScheduling is enabled, but depends on "
            "features that are disabled: [GenericWorkload]]",
            id="two dependencies that are off",
        ),
        pytest.param("other:A=true", "component not registered: other", id="another component"),
        pytest.param(
            "kube:GenericWorkload=true,WorkloadWithJob=true",
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


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (
            "GangScheduling=true",
            "GangScheduling is enabled, but depends on features that are disabled: "
            "[GenericWorkload]",
        ),
        (
            "CompositePodGroup=true",
            "cannot set feature gate CompositePodGroup to true, feature is PreAlpha at emulated "
            "version 1.36, min compatibility version 1.35",
        ),
    ],
)
def test_wrong_gates_of_an_emulated_release_are_refused(text: str, error: str) -> None:
    with pytest.raises(ConfigError) as raised:
        FeatureGates.from_text(text, parse_versions(["1.36"]))
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
    assert "GenericWorkload=true|false (BETA - default=false)" in lines
    assert "AllAlpha=true|false (ALPHA - default=false)" in lines
    assert not any(line.startswith("DynamicResourceAllocation=") for line in lines)
    assert lines == sorted(lines)
