"""The variables of a container, including those of the downward API."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.kubelet.container_environment import environment
from mooring.kubelet.pod_sources import SourceError
from tests.kubelet.sources import FakeSources, pod_with

SERVICES = {"KUBERNETES_SERVICE_HOST": "127.0.0.1"}


async def variables(**container: Any) -> dict[str, str]:
    sources = FakeSources()
    sources.config_maps = {"config": {"LEVEL": b"3", "b": b"B"}}
    sources.secrets = {"secret": {"PASSWORD": b"x"}}
    pod = pod_with(**container)
    return await environment(pod, pod["spec"]["containers"][0], sources, SERVICES)


def named(source: str, name: str, key: str, **more: Any) -> dict[str, Any]:
    return {"name": "V", "valueFrom": {source: {"name": name, "key": key, **more}}}


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        pytest.param({"name": "V", "value": "a"}, "a", id="a value"),
        pytest.param({"name": "V"}, "", id="nothing"),
        pytest.param(
            {"name": "V", "value": "$(KUBERNETES_SERVICE_HOST)"}, "127.0.0.1", id="a reference"
        ),
        pytest.param(named("configMapKeyRef", "config", "LEVEL"), "3", id="of a ConfigMap"),
        pytest.param(named("secretKeyRef", "secret", "PASSWORD"), "x", id="of a Secret"),
        pytest.param(
            named("configMapKeyRef", "no", "LEVEL", optional=True), None, id="none where optional"
        ),
        *(
            pytest.param({"name": "V", "valueFrom": {"fieldRef": {"fieldPath": path}}}, value)
            for path, value in (
                ("metadata.name", "p"),
                ("metadata.namespace", "team"),
                ("metadata.uid", "123"),
                ("metadata.labels['app']", "a"),
                ("metadata.annotations['none']", ""),
                ("metadata.labels", 'app="a"\ntier="b"'),
                ("spec.nodeName", "node-1"),
                ("spec.serviceAccountName", "default"),
                ("status.podIP", "10.0.0.7"),
                ("status.podIPs", "10.0.0.7"),
                ("status.hostIP", "172.18.0.2"),
            )
        ),
        *(
            pytest.param({"name": "V", "valueFrom": {"resourceFieldRef": reference}}, value)
            for reference, value in (
                ({"resource": "requests.cpu"}, "1"),
                ({"resource": "requests.cpu", "divisor": "1m"}, "250"),
                ({"resource": "requests.memory", "divisor": "1Mi"}, "64"),
                ({"resource": "requests.memory", "divisor": "0"}, "67108864"),
            )
        ),
    ],
)
async def test_variables(variable: dict[str, Any], value: str | None) -> None:
    assert (await variables(env=[variable])).get("V") == value


async def test_later_ones_win() -> None:
    whole = [
        {"configMapRef": {"name": "config"}},
        {"prefix": "S_", "secretRef": {"name": "secret"}},
    ]
    found = await variables(envFrom=whole, env=[{"name": "b", "value": "$(LEVEL)"}])
    assert found == {**SERVICES, "LEVEL": "3", "b": "3", "S_PASSWORD": "x"}


@pytest.mark.parametrize(
    ("container", "why"),
    [
        pytest.param(
            {"env": [named("configMapKeyRef", "no", "x")]}, 'configmap "no" not found', id="object"
        ),
        pytest.param(
            {"env": [named("secretKeyRef", "secret", "x")]},
            "couldn't find key x in Secret team/secret",
            id="key",
        ),
        pytest.param(
            {"envFrom": [{"secretRef": {"name": "no"}}]}, 'secret "no" not found', id="whole"
        ),
        pytest.param(
            {"env": [{"name": "V", "valueFrom": {"fieldRef": {"fieldPath": "spec.x"}}}]},
            "unsupported fieldPath: spec.x",
            id="field",
        ),
    ],
)
async def test_what_is_missing(container: dict[str, Any], why: str) -> None:
    with pytest.raises(SourceError) as raised:
        await variables(**container)
    assert str(raised.value) == why
