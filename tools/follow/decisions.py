"""Compare what two releases decided for the same scenarios, and name the plugins behind it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple

from tools.recorder.running import Row, differences

Entry = dict[str, Any]

#: What a change is about, the most important first.
DECISION = "decision"
SCORE = "score"
TEXT = "text"
PLUGINS = "plugins"
KINDS = (DECISION, SCORE, TEXT, PLUGINS)
#: A change that no plugin explains.
FRAMEWORK = "framework"

# The fields of an attempt that say where the pod goes, or that it goes nowhere.
_DECIDED = ("outcome", "feasible", "best", "chosen", "attempt", "nominatedNodeName")
_NOMINATED = ("nominatedNode", "victims", "acceptable", "candidates")
_SCORED = ("scores", "total")
_SPOKEN = ("message", "preEnqueue")
_POST_FILTER = "DefaultPreemption"


class Change(NamedTuple):
    """A scenario that two releases do not decide alike."""

    name: str
    kind: str
    plugins: tuple[str, ...]
    #: What differs first, as "path: before, now".
    first: str


def changes(before: list[Row], now: list[Row]) -> Iterator[Change]:
    """Yield how the rows of a group differ; a scenario that either release refused is left out."""
    for one, other in zip(before, now, strict=True):
        if "failed" in one or "failed" in other:
            continue
        found = change(one["scenario"]["name"], one["expected"], other["expected"])
        if found is not None:
            yield found


def refusals(rows: list[Row]) -> dict[str, str]:
    """Return the scenarios that a release refused, and why."""
    return {row["scenario"]["name"]: row["failed"] for row in rows if "failed" in row}


def change(name: str, before: Entry, now: Entry) -> Change | None:
    """Return how a scenario is decided otherwise; of a sequence, the first attempt that differs."""
    attempts = [(before, now)]
    if "sequence" in before:
        attempts = list(zip(before["sequence"], now["sequence"], strict=False))
    found = [_attempt(name, one, other) for one, other in attempts]
    ranked = sorted((one for one in found if one), key=lambda one: KINDS.index(one.kind))
    if ranked:
        return ranked[0]
    rest = list(differences(before, now))
    return Change(name, PLUGINS, (FRAMEWORK,), rest[0]) if rest else None


def _attempt(name: str, before: Entry, now: Entry) -> Change | None:
    for kind, differs in (
        (DECISION, _differs(before, now, _DECIDED) or _nomination(before) != _nomination(now)),
        (SCORE, _differs(before, now, _SCORED)),
        (TEXT, _differs(before, now, _SPOKEN) or _refused(before) != _refused(now)),
    ):
        if differs:
            plugins = _filtering(before, now)
            if not plugins and kind != TEXT:
                plugins = _scoring(before, now)
            if not plugins and before.get("preemption") != now.get("preemption"):
                plugins = _speaking(before, now)
            first = next(_shown(kind, before, now))
            return Change(name, kind, tuple(sorted(plugins)) or (FRAMEWORK,), first)
    return None


def _differs(before: Entry, now: Entry, fields: tuple[str, ...]) -> bool:
    return any(before.get(field) != now.get(field) for field in fields)


def _nomination(entry: Entry) -> list[Any]:
    preemption = entry.get("preemption") or {}
    return [preemption.get(field) for field in _NOMINATED]


def _refused(entry: Entry) -> Any:
    return entry.get("filter"), (entry.get("preFilter") or {}).get("status")


def _shown(kind: str, before: Entry, now: Entry) -> Iterator[str]:
    fields = {DECISION: _DECIDED, SCORE: _SCORED, TEXT: _SPOKEN}[kind]
    for field in (*fields, "preemption", "filter", "preFilter"):
        yield from differences(before.get(field), now.get(field), field)


def _filtering(before: Entry, now: Entry) -> set[str]:
    """Return the plugins whose refusals of nodes, or of the pod, are others."""
    found = set()
    one, other = (entry.get("filter") or {} for entry in (before, now))
    for node in one.keys() | other.keys():
        if one.get(node) != other.get(node):
            found |= {status["plugin"] for status in (one.get(node), other.get(node)) if status}
    statuses = [(entry.get("preFilter") or {}).get("status") for entry in (before, now)]
    if statuses[0] != statuses[1]:
        found |= {status["plugin"] for status in statuses if status}
    # A node that PreFilter left out has a status without a plugin; its text names the plugins.
    if "" in found:
        found |= _narrowing(before) | _narrowing(now)
    return found - {""}


def _narrowing(entry: Entry) -> set[str]:
    reasons = {
        reason
        for status in (entry.get("filter") or {}).values()
        if status and not status["plugin"]
        for reason in status["reasons"]
    }
    return {
        plugin
        for reason in reasons
        for plugin in reason.partition("[")[2].partition("]")[0].split()
    }


def _scoring(before: Entry, now: Entry) -> set[str]:
    one, other = (entry.get("scores") or {} for entry in (before, now))
    changed = {
        plugin for plugin in one.keys() | other.keys() if one.get(plugin) != other.get(plugin)
    }
    # A plugin that used to skip and now gives nothing to every node changes no decision.
    return {
        plugin
        for plugin in changed
        if any(score["normalized"] for score in {**one, **other}[plugin].values())
        or (plugin in one and plugin in other)
    } or changed


def _speaking(before: Entry, now: Entry) -> set[str]:
    """Return the plugins whose sentences after the fit error are others."""
    said = [
        set((entry.get("preemption") or {}).get("status", {}).get("reasons", ()))
        for entry in (before, now)
    ]
    spoken = said[0] ^ said[1]
    return {
        _POST_FILTER if sentence.startswith("preemption: ") else "DynamicResources"
        for sentence in spoken
    } or {_POST_FILTER}


def by_plugin(found: list[Change]) -> dict[str, dict[str, list[Change]]]:
    """Return the changes by plugin and kind; one that several plugins cause is under each."""
    table: dict[str, dict[str, list[Change]]] = defaultdict(lambda: defaultdict(list))
    for one in found:
        for plugin in one.plugins:
            table[plugin][one.kind].append(one)
    return {plugin: dict(kinds) for plugin, kinds in sorted(table.items())}
