"""A pod's system calls are those of the profiles that it names."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.api import Pod
from mooring.contrib.sysched.syscalls import ANNOTATION, SyscallSets
from mooring.informers.store import Store
from mooring.testing import make_pod
from tests.contrib.sysched.profiles import pod_with, profile

PROFILES = (
    profile("all", "read", "write", "open", "close"),
    profile("small", "read", SCMP_ACT_LOG=["write"], SCMP_ACT_ERRNO=["open"]),
    profile("other", "close", namespace="apps"),
    profile("denied", SCMP_ACT_KILL=["read"]),
)


def count(pod: Pod, *profiles: Any) -> int:
    store = Store(profiles or PROFILES)
    return SyscallSets(store, ("default", "all")).of(pod).bit_count()


def _annotated(*paths: str) -> Pod:
    annotations = {f"{ANNOTATION}/{index}": path for index, path in enumerate(paths)}
    return make_pod("p", annotations=annotations)


def _container(path: str) -> Pod:
    context = {"seccompProfile": {"type": "Localhost", "localhostProfile": path}}
    container = {"name": "c", "image": "a", "securityContext": context}
    return make_pod("p", spec={"containers": [container]})


@pytest.mark.parametrize(
    ("pod", "calls"),
    [
        pytest.param(make_pod("p"), 4, id="without a profile: the default one"),
        pytest.param(pod_with("p", "operator/default/small.json"), 2, id="allowed and logged"),
        pytest.param(pod_with("p", "localhost/operator/apps/other.json"), 1, id="by namespace"),
        pytest.param(pod_with("p", "operator/default/denied.json"), 4, id="nothing is allowed"),
        pytest.param(pod_with("p", "operator/default/gone.json"), 4, id="no such profile"),
        pytest.param(pod_with("p", "small.json"), 4, id="no namespace in the path"),
        pytest.param(_container("operator/default/small.json"), 2, id="of a container"),
        pytest.param(_annotated("operator/default/small.json"), 2, id="in an annotation"),
        pytest.param(
            _annotated("operator/default/small.json", "operator/apps/other.json"),
            2,
            id="only the first annotation counts",
        ),
        pytest.param(
            _annotated("operator/default/gone.json", "operator/apps/other.json"),
            1,
            id="unless its profile does not exist",
        ),
    ],
)
def test_calls(pod: Pod, calls: int) -> None:
    assert count(pod) == calls


def test_without_the_default_profile_nothing_is_known() -> None:
    assert count(make_pod("p"), profile("small", "read")) == 0


def test_a_changed_profile_counts_at_once() -> None:
    store = Store(PROFILES)
    sets = SyscallSets(store, ("default", "all"))
    assert sets.of(make_pod("p")).bit_count() == 4
    store.add(profile("all", "read"))
    assert sets.of(make_pod("p")).bit_count() == 1
