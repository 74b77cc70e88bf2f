"""Selectors on objects that are cached decoded, and on those kept only as JSON."""

from __future__ import annotations

import json

import pytest

from mooring.apiserver import resource_store as store_module
from tests.apiserver.api_server import PODS, ApiServer, pod


@pytest.mark.parametrize(
    ("selector", "found"),
    [
        pytest.param("spec.nodeName=n1", ["a"], id="a text"),
        pytest.param("spec.nodeName!=n1", ["b", "c"], id="a text that is absent"),
        pytest.param("spec.hostNetwork=true", ["b"], id="a boolean"),
        pytest.param("spec.hostNetwork=false", ["a", "c"], id="a boolean that is absent"),
        pytest.param("status.phase=Pending,metadata.name=c", ["c"], id="two of them"),
        pytest.param("status.podIPs=", ["a", "b", "c"], id="one that is computed"),
        pytest.param("status.podIP=", ["a", "b", "c"], id="a text that no object has"),
    ],
)
@pytest.mark.parametrize("recent", [1, 1000], ids=["bytes", "decoded"])
async def test_fields_select(
    selector: str, found: list[str], recent: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_module, "RECENT", recent)
    server = ApiServer()
    await server.ask("POST", PODS, pod("a", nodeName="n1"))
    await server.ask("POST", PODS, pod("b", hostNetwork=True))
    await server.ask("POST", PODS, pod("c"))
    answer = await server.send("GET", f"{PODS}?fieldSelector={selector}")
    assert [one["metadata"]["name"] for one in json.loads(answer.body)["items"]] == found
