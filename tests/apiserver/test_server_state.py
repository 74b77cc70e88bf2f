from __future__ import annotations

import datetime
import random
import re
import uuid

import pytest

from mooring.apiserver.refusals import Refusal
from mooring.apiserver.resource_store import ResourceStore
from mooring.apiserver.resource_table import Catalogue
from mooring.apiserver.server_state import ServerState
from mooring.controlplane.type_table import types


def _state(seed: int = 1) -> ServerState:
    now = datetime.datetime(2026, 1, 2, 3, 4, 5, 678900, tzinfo=datetime.UTC)
    return ServerState(ResourceStore(), Catalogue(types()), lambda: now, random.Random(seed))


def test_timestamps_have_whole_seconds() -> None:
    assert _state().timestamp() == "2026-01-02T03:04:05Z"


def test_the_clock_of_the_machine_is_the_default() -> None:
    state = ServerState(ResourceStore(), Catalogue(types()))
    assert state.now().tzinfo is datetime.UTC


def test_identifiers_are_random_by_the_seed() -> None:
    first, second = _state(), _state()
    uid = first.uid()
    assert uuid.UUID(uid).version == 4
    assert uid == second.uid() != first.uid()


def test_suffixes_form_no_words() -> None:
    state = _state()
    assert re.fullmatch("[bcdfghjklmnpqrstvwxz2456789]{5}", state.suffix())
    assert len(state.suffix(10)) == 10


def test_objects_by_name() -> None:
    state = _state()
    pods, nodes = (state.catalogue.get("", "v1", name) for name in ("pods", "nodes"))
    assert pods is not None and nodes is not None
    state.store.put("/pods", "n/p", {"metadata": {"name": "p", "namespace": "n"}})
    state.store.put("/nodes", "x", {"metadata": {"name": "x"}})
    assert state.find(pods, "n", "p").object["metadata"]["name"] == "p"
    assert state.find(nodes, "", "x").key == "x"
    found = state.lookup("/pods", "n", "p")
    assert found is not None and found["metadata"]["namespace"] == "n"
    assert state.lookup("/pods", "m", "p") is None
    with pytest.raises(Refusal, match='pods "q" not found') as refused:
        state.find(pods, "n", "q")
    assert refused.value.code == 404
