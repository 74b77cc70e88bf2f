"""Claims that would take minutes of every attempt: the pods of other tenants are bound soon.

What is counted is evaluations of expressions and turns of the loop, never seconds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import re2  # type: ignore[import-untyped]

from mooring.api import DeviceClass, Pod, ResourceClaim, ResourceSlice, decode_as
from mooring.cel.environment import Program
from mooring.cel.meter import Frame
from mooring.plugins.dynamic_resources.cel_budget import CelBudget
from mooring.plugins.dynamic_resources.claim_filter import TOO_EXPENSIVE
from mooring.testing import make_node
from tests.app.world import World
from tests.plugins.dynamic_resources.devices import DRIVER

NODES, DEVICES = 100, 8
#: As many iterations as kube-apiserver accepts.
FORTY_FIVE = str(list(range(45)))
SIZE = f'device.attributes["{DRIVER}"].size'


def _nest(inner: str) -> str:
    return f"{FORTY_FIVE}.all(a, {FORTY_FIVE}.all(b, {FORTY_FIVE}.all(c, {inner})))"


#: Each device has a size of its own, so nothing is known of the next one.
COSTLY = _nest(f"a + b + {SIZE} >= 0")


def _object(kind: type[Any], name: str, spec: dict[str, Any]) -> Any:
    metadata = {"name": name, "uid": name}
    if kind in (Pod, ResourceClaim):
        metadata["namespace"] = "default"
    return decode_as({"metadata": metadata, "spec": spec}, kind)


def _slice(i: int, first: int) -> ResourceSlice:
    devices = [
        {"name": f"d{k}", "attributes": {"size": {"int": first + k}}} for k in range(DEVICES)
    ]
    pool = {"name": f"n{i}", "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": DRIVER, "nodeName": f"n{i}", "pool": pool, "devices": devices}
    return _object(ResourceSlice, f"s{i}", spec)


def _pod(name: str, *claims: str) -> Pod:
    uses = [{"name": f"r{i}", "resourceClaimName": one} for i, one in enumerate(claims)]
    spec = {
        "containers": [{"name": "c", "image": "i"}],
        "resourceClaims": uses,
        "schedulerName": "default-scheduler",
    }
    pod: Pod = _object(Pod, name, spec)
    return pod


class _Evaluations:
    """Counts evaluations, and ends a test with too many instead of letting it take minutes."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, most: int) -> None:
        self.count = 0
        evaluate = Program.evaluate

        def counted(program: Program, *args: Any) -> tuple[Any, int]:
            self.count += 1
            assert self.count <= most, "too many evaluations"
            return evaluate(program, *args)

        monkeypatch.setattr(Program, "evaluate", counted)


def _world(*expressions: str, **request: Any) -> World:
    """Return a cluster with a hostile claim and a pod that uses it."""
    world = World()
    for i in range(NODES):
        world.nodes.add(make_node(f"n{i}"))
        world.informers.lister(ResourceSlice).add(_slice(i, DEVICES * i))
    world.informers.lister(DeviceClass).add(_object(DeviceClass, "gpu", {}))
    selectors = [{"cel": {"expression": one}} for one in expressions]
    exactly = {"deviceClassName": "gpu", "selectors": selectors, **request}
    spec = {"devices": {"requests": [{"name": "r", "exactly": exactly}]}}
    world.informers.lister(ResourceClaim).add(_object(ResourceClaim, "evil", spec))
    world.pods.add(_pod("hostile", "evil"))
    return world


async def test_another_pod_is_bound_after_one_attempt_of_bounded_cost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    evaluations = _Evaluations(monkeypatch, 20)
    world = _world(COSTLY)
    world.pods.add(_pod("plain"))
    assert await world.scheduler.turn()
    assert await world.scheduler.turn()
    await world.settle()
    assert ("plain", "bound") in [write[:2] for write in world.client.writes]
    reasons = [write[2] for write in world.client.writes if write[0] == "hostile"]
    text = TOO_EXPENSIVE.format("default/evil")
    assert reasons[0].startswith(f"0/100 nodes are available: 100 {text}.")
    # Five evaluations of nearly a million, and the one that exceeds the budget.
    assert evaluations.count <= 8


async def test_the_same_claim_costs_nothing_in_the_next_attempt(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    evaluations = _Evaluations(monkeypatch, 20)
    world = _world(COSTLY)
    await world.settle()
    first = evaluations.count
    for _ in range(3):
        # After five minutes, an unschedulable pod is tried again.
        await world.after(400)
    assert world.scheduler.cycles == 4
    assert evaluations.count == first


async def test_an_attempt_that_reached_the_budget_backs_off(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _Evaluations(monkeypatch, 20)
    world = _world(COSTLY)
    await world.settle()
    assert world.scheduler.cycles == 1
    # New devices may help, so the pod is queued again; nothing else is, and still it waits.
    world.informers.lister(ResourceSlice).add(_slice(0, 100_000))
    await world.settle()
    assert world.scheduler.cycles == 1
    await world.after(3)
    assert world.scheduler.cycles == 2


async def test_a_nest_that_reads_no_device_is_evaluated_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    parts: list[Frame] = []
    alone = Frame.alone

    def counted(frame: Frame) -> Frame:
        parts.append(frame)
        return alone(frame)

    monkeypatch.setattr(Frame, "alone", counted)
    evaluations = _Evaluations(monkeypatch, NODES * DEVICES)
    world = _world(f"{_nest('a + b + c >= 0')} && {SIZE} >= 0")
    await world.settle()
    assert (evaluations.count, len(parts)) == (NODES * DEVICES, 1)
    assert "nodes are available" not in str(world.client.writes)


def _patterns(longest: int) -> list[str]:
    return [rf"\\pL{{1,{longest - k}}}" for k in range(10)]


TEXT = "device.driver"
#: Patterns with large programs, which are built again and again, and some that are too large.
LARGE_PATTERNS = {
    "constants": lambda i: " || ".join(
        f'{TEXT}.matches("{one}")' for one in _patterns(300 - 10 * i)
    ),
    "constants that are searched for": lambda i: " || ".join(
        f'{TEXT}.find("{one}") == ""' for one in _patterns(300 - 10 * i)
    ),
    "elements": lambda i: (
        "["
        + ", ".join(f'"{one}"' for one in _patterns(999 - 10 * i))
        + f"].exists(p, {TEXT}.matches(p))"
    ),
}


@pytest.mark.parametrize("expression_of", LARGE_PATTERNS.values(), ids=LARGE_PATTERNS)
async def test_large_patterns_are_charged_to_the_budget(
    expression_of: Callable[[int], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled: list[str] = []
    compile = re2.compile

    def counted(text: str, options: Any) -> Any:
        compiled.append(text)
        if len(compiled) > 60:
            raise re2.error(b"the test ends here")
        return compile(text, options)

    monkeypatch.setattr(re2, "compile", counted)
    world = _world(*(expression_of(i) for i in range(20)))
    world.pods.add(_pod("plain"))
    await world.settle()
    assert ("plain", "bound") in [write[:2] for write in world.client.writes]
    assert 0 < len(compiled) <= 60


@pytest.mark.parametrize(
    ("expressions", "request_of"),
    [
        pytest.param([COSTLY], {"allocationMode": "All"}, id="all devices"),
        pytest.param([f"{COSTLY} && {i} >= 0" for i in range(4)], {}, id="many selectors"),
        pytest.param([COSTLY], {"count": 8}, id="many devices"),
    ],
)
async def test_requests_of_every_kind_share_the_budget(
    expressions: list[str], request_of: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    _Evaluations(monkeypatch, 20)
    world = _world(*expressions, **request_of)
    world.pods.add(_pod("plain"))
    await world.settle()
    assert ("plain", "bound") in [write[:2] for write in world.client.writes]
    assert TOO_EXPENSIVE.format("default/evil") in str(world.client.writes)


async def test_many_claims_of_a_pod_share_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    evaluations = _Evaluations(monkeypatch, 40)
    world = _world(COSTLY)
    claims = world.informers.lister(ResourceClaim)
    for i in range(30):
        expression = _nest(f"a + b + {SIZE} >= -{i}")
        exactly = {"deviceClassName": "gpu", "selectors": [{"cel": {"expression": expression}}]}
        spec = {"devices": {"requests": [{"name": "r", "exactly": exactly}]}}
        claims.add(_object(ResourceClaim, f"evil-{i}", spec))
    world.pods.add(_pod("greedy", *(f"evil-{i}" for i in range(30))))
    await world.settle()
    assert "default/evil-0" in str(world.client.writes)
    assert evaluations.count <= 16


async def test_a_budget_that_is_not_reached_changes_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    spent: list[int] = []
    charge = CelBudget.charge

    def noted(budget: CelBudget, key: object, cost: int) -> None:
        charge(budget, key, cost)
        spent.append(budget.limit - budget.left)

    monkeypatch.setattr(CelBudget, "charge", noted)
    world = _world(f"{SIZE} >= 0", f'device.driver == "{DRIVER}"')
    await world.settle()
    assert TOO_EXPENSIVE.format("default/evil") not in str(world.client.writes)
    # An ordinary claim for 800 different devices takes a hundredth of the budget.
    assert max(spent) < 50_000
