"""CycleState: what plugins keep for one pod during one scheduling attempt."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from mooring.api.spelling import spelled


class StateNotFoundError(KeyError):
    """A read of a key that was never written; kube-scheduler's text is "not found"."""

    def __str__(self) -> str:
        return "not found"


@spelled()
class CycleState:
    """The data that plugins keep for one scheduling attempt. Owned by the cycle.

    A key belongs to the plugin that wrote it (by convention the plugin class or its name). A value
    is either immutable or has a `clone()` method, which `CycleState.clone` calls: a dry run works
    on a clone. The class of a large value that nothing reads from Reserve on may set
    `cycle_only = True`; it is then dropped early, because thousands of pods may wait to be bound,
    each with its state.
    """

    __slots__ = (
        "_data",
        "examines",
        "pod_group_state",
        "record_plugin_metrics",
        "skip_filter_plugins",
        "skip_score_plugins",
    )

    def __init__(self) -> None:
        self._data: dict[Hashable, Any] = {}
        #: Names of plugins whose PreFilter returned Skip: their Filter does not run.
        self.skip_filter_plugins: frozenset[str] = frozenset()
        #: Names of plugins whose PreScore returned Skip: their Score does not run.
        self.skip_score_plugins: frozenset[str] = frozenset()
        #: Whether every plugin is timed in this attempt (only a sample of attempts is).
        self.record_plugin_metrics = False
        #: Whether the plugins are only asked, for an explanation: nothing comes of this attempt, so
        #: a plugin that remembers attempts must not remember this one.
        self.examines = False
        #: The state that the pods of a group share while the group is placed; None otherwise.
        self.pod_group_state: CycleState | None = None

    def write(self, key: Hashable, value: Any) -> None:
        """Store `value` under `key`."""
        self._data[key] = value

    def read(self, key: Hashable) -> Any:
        """Return what was written under `key`; raise StateNotFoundError if nothing was."""
        try:
            return self._data[key]
        except KeyError:
            raise StateNotFoundError(key) from None

    def get(self, key: Hashable, default: Any = None) -> Any:
        """Return what was written under `key`, or `default`."""
        return self._data.get(key, default)

    def delete(self, key: Hashable) -> None:
        """Delete what was written under `key`, if anything."""
        self._data.pop(key, None)

    def end_cycle(self) -> None:
        """Drop the `cycle_only` values, once the pod has been placed."""
        data = self._data
        dropped = [key for key in data if getattr(type(data[key]), "cycle_only", False) is True]
        for key in dropped:
            del data[key]

    def clone(self) -> CycleState:
        """Return a copy; values that have `clone()` are cloned, others are shared."""
        other = CycleState()
        for key, value in self._data.items():
            clone = getattr(value, "clone", None)
            other._data[key] = value if clone is None else clone()
        other.skip_filter_plugins = self.skip_filter_plugins
        other.skip_score_plugins = self.skip_score_plugins
        other.record_plugin_metrics = self.record_plugin_metrics
        other.examines = self.examines
        other.pod_group_state = self.pod_group_state
        return other
