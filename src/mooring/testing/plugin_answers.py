"""All answers of a plugin about one pod in one cluster, in a form that can be compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import msgspec
import numpy as np

from mooring.api import Pod
from mooring.errors import PluginError
from mooring.framework.nodes import Nodes
from mooring.framework.plugin_errors import error_text, raise_if_external
from mooring.framework.state import CycleState
from mooring.framework.status import Status
from mooring.testing.bench import Answers, Bench

T = TypeVar("T")

#: A refusal's code and reasons; None for a node that passes.
Verdict = tuple[str, tuple[str, ...]] | None


class Said(msgspec.Struct, frozen=True):
    """The answers of a plugin about one pod, by point and node name."""

    filter: Mapping[str, Verdict]
    raw: Mapping[str, int]
    normalized: Mapping[str, int]


class Case(msgspec.Struct, frozen=True):
    """One plugin, one pod and one generated cluster, which failure messages name."""

    plugin: str
    pod: Pod
    seed: int

    def fail(self, check: str, text: str, *, point: str, node: str | None = None) -> PluginError:
        """Return the error that says which check failed, where, and how to reproduce it."""
        return PluginError(
            f"{check}: {text}\n(pod {self.pod.key}; the same again: seed={self.seed}, rounds=1)",
            plugin=self.plugin,
            point=point,
            node=node,
        )

    def call(self, point: str, node: str | None, method: Callable[..., T], *args: Any) -> T:
        """Call a method of the plugin; an exception becomes a PluginError that names the method."""
        try:
            return method(*args)
        except BaseException as error:
            raise_if_external(error)
            name = getattr(method, "__name__", point)
            text = error_text(error)
            raise self.fail(f"{name} raises nothing", text, point=point, node=node) from error

    def compare_filter(
        self, check: str, names: Sequence[str], first: Answers, second: Answers, words: str
    ) -> None:
        """Raise if two answers of Filter differ; `words` is a format like "{} here, {} there"."""
        for name, one, other in zip(names, first, second, strict=True):
            if verdict(one) != verdict(other):
                text = words.format(describe(verdict(one)), describe(verdict(other)))
                raise self.fail(check, text, point="Filter", node=name)

    def compare_scores(
        self, check: str, names: Sequence[str], first: Any, second: Any, words: str
    ) -> None:
        """Raise if two answers of Score differ."""
        for name, one, other in zip(names, list(first), list(second), strict=True):
            if one != other:
                raise self.fail(check, words.format(one, other), point="Score", node=name)

    def compare_said(self, check: str, first: Said, second: Said, words: str) -> None:
        """Raise if any of the answers differ."""
        for point, one, other in (
            ("Filter", first.filter, second.filter),
            ("Score", first.raw, second.raw),
            ("NormalizeScore", first.normalized, second.normalized),
        ):
            for name in sorted(one.keys() | other.keys()):
                if one.get(name, _NOT_ASKED) != other.get(name, _NOT_ASKED):
                    found = words.format(
                        describe(one.get(name, _NOT_ASKED)), describe(other.get(name, _NOT_ASKED))
                    )
                    raise self.fail(check, found, point=point, node=name)


_NOT_ASKED = "no answer"


def verdict(status: Status | None) -> Verdict:
    """Return the part of an answer of Filter that is compared."""
    return None if status is None else (status.code.label, status.reasons)


def describe(found: Any) -> str:
    """Return an answer as text."""
    if found is None:
        return "passes"
    if isinstance(found, tuple):
        code, reasons = found
        return f'{code} "{", ".join(reasons)}"'
    return str(found)


def feasible_nodes(bench: Bench, answers: Answers) -> Nodes:
    """Return the nodes that pass."""
    return bench.nodes.where(np.array([answer is None for answer in answers], dtype=np.bool_))


def ask(bench: Bench, pod: Pod) -> Said:
    """Run PreFilter to NormalizeScore and return the plugin's answers."""
    state = CycleState()
    answers = bench.filter(state, pod)
    names = bench.nodes.names
    raw: dict[str, int] = {}
    normalized: dict[str, int] = {}
    feasible = feasible_nodes(bench, answers)
    if bench.profile.score and len(feasible):
        found = bench.rank(state, pod, feasible).scores.get(bench.plugin.name)
        if found is not None:
            raw = dict(zip(feasible.names, found.raw.tolist(), strict=True))
            normalized = dict(zip(feasible.names, found.normalized.tolist(), strict=True))
    return Said(
        {name: verdict(answer) for name, answer in zip(names, answers, strict=True)},
        raw,
        normalized,
    )
