"""Dispatch, strictness and origins; malformed documents give errors and never crash."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.config import load_config_text
from mooring.config.convert import Converted, convert
from mooring.config.convert.default_plugins import V1BETA1
from mooring.config.convert.document import REMOVED_IN
from mooring.config.convert.policy_names import PREDICATES, PRIORITIES
from mooring.config.convert.removed import ALL_REMOVED
from mooring.config.convert.schema import args_version, fields_of, root_of
from mooring.config.convert.schema_table import TABLE
from mooring.errors import ConfigError, ConfigErrors
from mooring.framework.releases import V1_36, V1_37, Release

GROUP = "kubescheduler.config.k8s.io"


def older(version: str, **fields: Any) -> dict[str, Any]:
    return {
        "apiVersion": f"{GROUP}/{version}",
        "kind": "KubeSchedulerConfiguration",
        **fields,
    }


def errors(converted: Converted) -> list[str]:
    return [str(error) for error in converted.errors]


@pytest.mark.parametrize(
    "doc",
    [
        {"apiVersion": f"{GROUP}/v1", "kind": "KubeSchedulerConfiguration", "nonsense": 1},
        {"apiVersion": f"{GROUP}/v2", "kind": "KubeSchedulerConfiguration"},
        {"apiVersion": f"{GROUP}/v1beta2", "kind": "Deployment"},
        {"apiVersion": 7},
        {},
        [],
        "text",
    ],
    ids=str,
)
def test_what_is_no_older_document_comes_back_as_it_is(doc: Any) -> None:
    assert convert(doc) == Converted(doc, [], [], {})


@pytest.mark.parametrize("version", REMOVED_IN)
def test_every_version_says_when_kube_scheduler_stopped_reading_it(version: str) -> None:
    (warning, *_) = convert(older(version)).warnings
    release = REMOVED_IN[version]
    assert warning.startswith(f"{GROUP}/{version} is deprecated (kube-scheduler {release} removed")


def test_every_problem_is_reported_at_once_with_its_path() -> None:
    doc = older(
        "v1beta2",
        parallelism="many",
        paralelism=3,
        leaderElection={"leaseDuration": 15},
        profiles=[
            {"plugins": {"score": {"enabled": [{"name": "A", "weight": 2**31}]}}},
            {"pluginConfig": {"name": "A"}},
        ],
        extenders=[{"tlsConfig": {"caData": "no base64!"}, "enableHttps": True}],
    )
    assert errors(convert(doc)) == [
        'parallelism: must be an integer, got "many"',
        'paralelism: unknown field "paralelism", did you mean "parallelism"?',
        'leaderElection.leaseDuration: must be a duration such as "15s", got 15',
        "profiles[0].plugins.score.enabled[0].weight: must be an integer that fits in int32, "
        "got 2147483648",
        "profiles[1].pluginConfig: must be a list, got a mapping",
        'extenders[0].tlsConfig.caData: must be base64 text, got "no base64!"',
        'extenders[0].enableHttps: unknown field "enableHttps", did you mean "enableHTTPS"?',
    ]


def test_an_unknown_field_does_not_hide_what_else_is_wrong() -> None:
    doc = older(
        "v1beta1",
        nonsense=1,
        profiles=[{"plugins": {"score": {"enabled": [{"name": "ServiceAffinity"}]}}}],
    )
    first, second = errors(convert(doc))
    assert first == 'nonsense: unknown field "nonsense", v1beta1 has no such field here'
    assert second.startswith("profiles[0].plugins.score.enabled[0]: ServiceAffinity no longer")


def test_args_of_in_tree_plugins_are_checked_against_their_version() -> None:
    config = [
        {"name": "NodeResourcesFit", "args": {"ignoredResource": ["a"]}},
        {"name": "Mine", "args": {"anything": ["goes"]}},
        {"name": "InterPodAffinity", "args": {"hardPodAffinityWeight": "1"}},
    ]
    assert errors(convert(older("v1beta2", profiles=[{"pluginConfig": config}]))) == [
        'profiles[0].pluginConfig[0].args.ignoredResource: unknown field "ignoredResource", '
        'did you mean "ignoredResources"?',
        'profiles[0].pluginConfig[2].args.hardPodAffinityWeight: must be an integer, got "1"',
    ]


def test_null_fields_count_as_absent() -> None:
    doc = older("v1beta3", parallelism=None, profiles=[{"plugins": None, "schedulerName": "x"}])
    assert convert(doc).doc_v1["profiles"] == [{"schedulerName": "x"}]


def test_the_document_that_was_given_is_not_changed() -> None:
    args = {"apiVersion": f"{GROUP}/v1beta1", "presentLabels": ["a"]}
    profile = {
        "plugins": {"filter": {"enabled": [{"name": "NodeLabel"}]}},
        "pluginConfig": [{"name": "NodeLabel", "args": args}],
    }
    doc = older("v1beta1", profiles=[profile])
    before = repr(doc)
    assert convert(doc).errors == []
    assert repr(doc) == before


MOVED = """\
apiVersion: kubescheduler.config.k8s.io/v1alpha1
kind: KubeSchedulerConfiguration
hardPodAffinitySymmetricWeight: 101
bindTimeoutSeconds: -1
leaderElection:
  lockObjectName: a
  leaseDuration: 1s
plugins:
  score:
    disabled:
    - name: NodeResourcesLeastAllocated
    enabled:
    - name: NodeResourcesMostAllocated
pluginConfig:
- name: Mine
- name: NodeResourcesMostAllocated
  args:
    resources:
    - name: cpu
      weight: 101
"""


def test_errors_of_the_v1_form_point_to_the_older_file() -> None:
    with pytest.raises(ConfigErrors) as caught:
        load_config_text(MOVED, file="old.yaml")
    places = {(error.path, error.line) for error in caught.value.errors}
    assert ("hardPodAffinitySymmetricWeight", 3) in {
        ((path or "").partition(".")[0], line) for path, line in places
    }
    assert any((path or "").startswith("bindTimeoutSeconds") and n == 4 for path, n in places)
    assert any((path or "").startswith("leaderElection") for path, _ in places)
    assert any((path or "").startswith("pluginConfig[1].args.resources") for path, _ in places)


SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**65), 2**65),
    st.floats(),
    st.text(max_size=5),
    st.sampled_from(["*", "15s", "leases", "0"]),
)
JUNK = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=6,
)
NAMES = sorted(
    {
        *ALL_REMOVED,
        *PREDICATES,
        *PRIORITIES,
        *(name for plugins in V1BETA1.values() for name, _ in plugins),
        "*",
        "Mine",
        "DefaultProvider",
        "ClusterAutoscalerProvider",
        "",
    }
)


@st.composite
def values(draw: st.DrawFn, kind: str, version: str) -> Any:
    """Draw a value of a kind, and now and then something else."""
    if draw(st.integers(0, 30)) == 0:
        return draw(JUNK)
    if kind.startswith("[]"):
        return draw(st.lists(values(kind[2:], version), max_size=3))
    if kind in TABLE[version]:
        fields = fields_of(version, kind)
        chosen = draw(st.lists(st.sampled_from(sorted(fields)), unique=True, max_size=6))
        doc = {field: draw(values(fields[field], version)) for field in chosen}
        if kind == "PluginConfig" and isinstance(doc.get("name"), str):
            args = f"{doc['name']}Args"
            if args in TABLE[args_version(version)]:
                doc["args"] = draw(values(args, args_version(version)))
        if draw(st.integers(0, 40)) == 0:
            doc[draw(st.text(max_size=4))] = draw(JUNK)
        return doc
    return draw(
        {
            "string": st.sampled_from(NAMES),
            "bool": st.booleans(),
            "int32": st.integers(-3, 200),
            "int64": st.integers(-3, 200),
            "nanoseconds": st.integers(-(10**10), 10**12),
            "float32": st.floats(allow_nan=False),
            "duration": st.sampled_from(["1s", "0", "-2m", "1.5h"]),
            "bytes": st.sampled_from(["", "Y2E="]),
            "object": st.dictionaries(st.sampled_from(NAMES), JUNK, max_size=2),
            "any": JUNK,
        }[kind]
    )


def read_anything(*names: str) -> Any:
    if "Mine" in names:
        raise FileNotFoundError("no such thing")
    return "{" if len(names) == 1 else {"policy.cfg": "predicates: []"}


@pytest.mark.parametrize("version", ["v1alpha1", "v1alpha2"])
def test_a_removed_plugin_at_unreserve_is_refused(version: str) -> None:
    plugins = {"plugins": {"unreserve": {"enabled": [{"name": "AzureDiskLimits"}]}}}
    body = plugins if version == "v1alpha1" else {"profiles": [plugins]}
    converted = convert({**older(version), **body})
    assert [error.message for error in converted.errors] == [
        "AzureDiskLimits no longer exists, and took no part in reserve: take it out"
    ]


@pytest.mark.parametrize("version", list(TABLE))
@given(data=st.data())
def test_any_document_converts_or_is_refused_with_errors(version: str, data: st.DataObject) -> None:
    doc = data.draw(values(root_of(version), version))
    if not isinstance(doc, dict):
        doc = {"profiles": doc}
    if version == "Policy":
        doc |= {"kind": "Policy", "apiVersion": "v1"}
    else:
        doc |= older(version)
    converted = convert(doc, read_file=read_anything, read_config_map=read_anything)
    if converted.errors:
        assert converted.doc_v1 == {}
        return
    assert "its v1 form is" in converted.warnings[0]
    assert converted.doc_v1["apiVersion"] == f"{GROUP}/v1"
    assert not ALL_REMOVED & set(plugin_names(converted.doc_v1))


def plugin_names(doc: dict[str, Any]) -> list[str]:
    return [
        entry.get("name", "")
        for profile in doc.get("profiles", [])
        for plugin_set in profile.get("plugins", {}).values()
        for entries in plugin_set.values()
        for entry in entries
    ]


@given(st.text(max_size=200), st.sampled_from([*REMOVED_IN, "Policy"]))
def test_any_text_is_a_configuration_or_an_error(text: str, version: str) -> None:
    kind = "Policy" if version == "Policy" else "KubeSchedulerConfiguration"
    api_version = "v1" if version == "Policy" else f"{GROUP}/{version}"
    try:
        load_config_text(f"apiVersion: {api_version}\nkind: {kind}\n{text}")
    except ConfigError as error:
        assert str(error)


@pytest.mark.parametrize(
    ("release", "first"),
    [
        pytest.param(V1_36, ["NodeUnschedulable", "NodeName"], id="1.36"),
        pytest.param(V1_37, ["NodeName", "NodeUnschedulable"], id="1.37"),
    ],
)
def test_the_order_of_plugins_is_that_of_the_release(release: Release, first: list[str]) -> None:
    again = {"enabled": [{"name": "NodePorts"}], "disabled": [{"name": "NodePorts"}]}
    doc = older("v1beta2", profiles=[{"plugins": {"filter": again}}])
    written = convert(doc, release=release).doc_v1["profiles"][0]["plugins"]["filter"]
    assert [one["name"] for one in written["enabled"]][:2] == first
