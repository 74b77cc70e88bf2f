"""Checks of a plugin's args, its queue order, Reserve, and whole scheduling attempts."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import replace

from mooring.api import Pod
from mooring.config import load_config_data, to_v1
from mooring.errors import ConfigError, PluginError
from mooring.framework.plugin import Plugin
from mooring.framework.points import Point, points_of
from mooring.framework.queued import QueuedPod
from mooring.framework.state import CycleState
from mooring.testing.bench import Answers, Bench, Workbench, raise_breach
from mooring.testing.plugin_answers import Case, ask
from mooring.testing.scenes import Scene
from mooring.virtual.driving import drive
from mooring.virtual.memory_scheduler import MemoryScheduler
from mooring.virtual.simulation import schedule_all

ARGS = "args round-trip"
ARGS_KEPT = "args are not changed"
UNRESERVE = "unreserve is idempotent"
TAKEN_BACK = "unreserve takes back what reserve did"
DETERMINISTIC = "the same input gives the same answer"
ORDER = "less is an order"
BOTH_ORDERS = "less and sort_key agree"

_ONCE = "{} after unreserve was called once, {} after it was called twice"
_RESERVED = "{} before reserve, {} after unreserve"


def check_args(workbench: Workbench) -> None:
    """Check that args written to a configuration and loaded from it are unchanged."""
    name, args = workbench.kind.name, workbench.args
    if not isinstance(args, msgspec.Struct):
        return
    config = workbench.config.config
    profile = config.profiles[0]
    given = [one for one in profile.plugin_config if one.name != name]
    printed = msgspec.convert({"name": name}, type(profile.plugin_config[0]))
    profile = replace(profile, plugin_config=(*given, replace(printed, args=args)))
    document = to_v1(replace(config, profiles=(profile,)))
    try:
        result = load_config_data(
            document, registry=workbench.registry, feature_gates=workbench.features
        )
    except ConfigError as error:
        text = f"{ARGS}: {args} does not load from the configuration it is printed as: {error}"
        raise PluginError(text, plugin=name) from None
    loaded = result.profiles[0].args[name]
    if loaded != args:
        text = f"{ARGS}: {args} is {loaded} when printed into a configuration and loaded again"
        raise PluginError(text, plugin=name)


def check_args_kept(workbench: Workbench, before: str) -> None:
    """Check that a run has not changed the args."""
    if repr(workbench.args) != before:
        text = f"{ARGS_KEPT}: {before} became {workbench.args!r}"
        raise PluginError(text, plugin=workbench.kind.name)


def check_queue_sort(plugin: Plugin, pods: Sequence[Pod], rng: random.Random) -> None:
    """Check that `less` is an order, and agrees with `sort_key`."""
    less, sort_key = getattr(plugin, "less", None), getattr(plugin, "sort_key", None)
    queued = [QueuedPod(pod, timestamp=float(rng.randint(0, 3))) for pod in pods]
    for a in queued:
        for b in queued:
            if less is None:
                continue
            names = f"{a.pod.key} and {b.pod.key}"
            if less(a, b) and less(b, a):
                raise _queue_error(plugin, f"{ORDER}: {names} each go before the other")
            if sort_key is not None and less(a, b) != (sort_key(a) < sort_key(b)):
                raise _queue_error(plugin, f"{BOTH_ORDERS}: not on {names}")


def _queue_error(plugin: Plugin, text: str) -> PluginError:
    return PluginError(text, plugin=plugin.name, point=Point.QUEUE_SORT.label)


def check_reserve(
    workbench: Workbench, bench: Bench, scene: Scene, case: Case, answers: Answers
) -> bool:
    """Check Reserve on a node that passes; return False if there is nothing to check."""
    plugin: Any = bench.plugin
    passing = [
        name for name, answer in zip(bench.nodes.names, answers, strict=True) if answer is None
    ]
    if Point.RESERVE not in points_of(type(plugin)) or not passing or case.pod.node_name:
        return False
    node_name = passing[0]
    state = CycleState()
    bench.filter(state, case.pod)
    probes = scene.pending
    before = [ask(bench, probe) for probe in probes]
    if hasattr(plugin, "reserve"):
        case.call("Reserve", node_name, plugin.reserve, state, case.pod, node_name)
    if hasattr(plugin, "unreserve"):
        case.call("Reserve", node_name, plugin.unreserve, state, case.pod, node_name)
    once = [ask(bench, probe) for probe in probes]
    _compare(case, TAKEN_BACK, _RESERVED, probes, before, once)
    if not hasattr(plugin, "unreserve"):
        return True
    kept = _memory(plugin)
    case.call("Reserve", node_name, plugin.unreserve, state, case.pod, node_name)
    if _memory(plugin) != kept:
        raise case.fail(
            UNRESERVE, _ONCE.format(kept, _memory(plugin)), point="Reserve", node=node_name
        )
    _compare(case, UNRESERVE, _ONCE, probes, once, [ask(bench, probe) for probe in probes])
    # unreserve may come without reserve: another plugin's Reserve may have failed first.
    fresh = workbench.place(scene.objects_with())
    state = CycleState()
    fresh.filter(state, case.pod)
    other: Any = fresh.plugin
    case.call("Reserve", node_name, other.unreserve, state, case.pod, node_name)
    _compare(case, UNRESERVE, _RESERVED, probes, before, [ask(fresh, probe) for probe in probes])
    return True


def _compare(
    case: Case, check: str, words: str, probes: Sequence[Pod], first: Any, second: Any
) -> None:
    for probe, one, other in zip(probes, first, second, strict=True):
        replace(case, pod=probe).compare_said(check, one, other, words)


def _memory(plugin: Plugin) -> str:
    """Return a plugin's attributes as text; objects that are not plain data show their type."""
    kept = {key: value for key, value in vars(plugin).items() if key not in ("args", "handle")}
    return repr(_plain(kept))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(_plain(key)): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        items = [_plain(item) for item in value]
        return sorted(items, key=repr) if isinstance(value, set | frozenset) else items
    if isinstance(value, np.ndarray):
        return value.tolist()
    if value is None or isinstance(value, bool | int | float | str | bytes | msgspec.Struct):
        return value
    return type(value).__name__


def check_attempts(workbench: Workbench, scene: Scene, seed: int) -> int:
    """Schedule all pending pods of a cluster twice and compare; return how many were tried."""
    first, second = (_attempts(workbench, scene, seed) for _ in range(2))
    for pod, one in first.items():
        if second.get(pod) != one:
            text = f"{DETERMINISTIC}: pod {pod}: {one} the first time, {second.get(pod)} the second"
            raise PluginError(f"{text}\n(seed={seed}, rounds=1)", plugin=workbench.kind.name)
    return len(first)


def _attempts(workbench: Workbench, scene: Scene, seed: int) -> dict[str, tuple[Any, ...]]:
    name = workbench.kind.name
    profile = workbench.config.profiles[0]
    config = workbench.config
    if name in profile.args:
        own = replace(profile, args={**profile.args, name: workbench.args})
        config = replace(config, profiles=(own, *config.profiles[1:]))
    scheduler = MemoryScheduler(
        scene.objects_with(),
        config=config,
        registry=workbench.registry,
        features=workbench.features,
        random=random.Random(seed),
    )
    try:
        outcomes = drive(schedule_all(scheduler))
    except RuntimeError as error:
        raise PluginError(f"a whole attempt: {error}", plugin=name) from error
    for decision in outcomes.decisions.values():
        for status in (decision.pre_enqueue, decision.pre_filter, *decision.errors):
            raise_breach(status, name)
    return {
        decision.pod.key: (decision.outcome.value, decision.node_name, decision.message)
        for decision in outcomes.decisions.values()
    }
