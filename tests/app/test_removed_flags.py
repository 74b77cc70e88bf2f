"""Flags that kube-scheduler no longer has, as a document that has fields for them."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.app.flags import FlagValues
from mooring.app.removed_flags import names_policy, old_document, removed_warnings
from mooring.errors import ConfigError
from tests.app.test_flags import read


def flags(*argv: str) -> FlagValues:
    return read(*argv)


FILE = {"policy": {"file": {"path": "p.json"}}}
MAP = {"policy": {"configMap": {"name": "rules", "namespace": "kube-system"}}}


@pytest.mark.parametrize(
    ("argv", "fields"),
    [
        pytest.param([], None, id="nothing that v1 cannot say"),
        pytest.param(["--port=1"], None, id="a port is no part of the document"),
        pytest.param(
            ["--algorithm-provider=ClusterAutoscalerProvider"],
            {"algorithmSource": {"provider": "ClusterAutoscalerProvider"}},
            id="a provider",
        ),
        pytest.param(["--policy-config-file=p.json"], {"algorithmSource": FILE}, id="a file"),
        pytest.param(["--policy-configmap=rules"], {"algorithmSource": MAP}, id="a ConfigMap"),
        pytest.param(
            ["--policy-configmap=rules", "--policy-config-file=p.json"],
            {"algorithmSource": MAP},
            id="a ConfigMap goes before a file",
        ),
        pytest.param(
            [
                "--policy-configmap=rules",
                "--policy-config-file=p.json",
                "--use-legacy-policy-config",
            ],
            {"algorithmSource": FILE},
            id="unless the file is asked for",
        ),
        pytest.param(
            ["--hard-pod-affinity-symmetric-weight=7"],
            {"hardPodAffinitySymmetricWeight": 7},
            id="a weight",
        ),
        pytest.param(
            ["--policy-config-file=p.json", "--scheduler-name=mine"],
            {"algorithmSource": FILE, "schedulerName": "mine"},
            id="a name goes along",
        ),
        pytest.param(
            ["--policy-config-file=p.json", "--scheduler-name=mine", "--config=x"],
            {"algorithmSource": FILE},
            id="beside a file only the Policy counts",
        ),
        pytest.param(
            ["--algorithm-provider=DefaultProvider", "--config=x"],
            None,
            id="beside a file a provider does not count",
        ),
    ],
)
def test_the_document_that_says_the_same(argv: list[str], fields: Any) -> None:
    found = old_document(flags(*argv))
    if fields is None:
        assert found is None
        return
    assert found == {
        "apiVersion": "kubescheduler.config.k8s.io/v1alpha1",
        "kind": "KubeSchedulerConfiguration",
        **fields,
    }


def test_the_legacy_policy_needs_a_file() -> None:
    with pytest.raises(ConfigError, match="required when --use-legacy-policy-config is true"):
        old_document(flags("--use-legacy-policy-config"))


@pytest.mark.parametrize(
    ("argv", "named"),
    [([], False), (["--policy-configmap=a"], True), (["--policy-config-file=a"], True)],
)
def test_whether_a_policy_is_named(argv: list[str], named: bool) -> None:
    assert names_policy(flags(*argv)) is named


def test_each_removed_flag_is_warned_about_with_what_to_use() -> None:
    assert list(removed_warnings(flags("--address=1.2.3.4", "--v=3"))) == [
        "Flag --address has been deprecated, use --bind-address"
    ]
    beside = list(
        removed_warnings(flags("--address=1.2.3.4", "--policy-configmap=a", "--config=x"))
    )
    assert [warning.endswith("because --config is given") for warning in beside] == [True, False]
