"""Slices with the taints of DeviceTaintRules added to their devices.

A rule selects devices by driver, pool and name. Rules are rare, so a slice is copied only if a
rule selects one of its devices; all others are passed on as they are.
"""

# dynamic-resource-allocation: resourceslice/tracker/tracker.go

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Any

from msgspec.structs import replace

from mooring.api import DeviceTaintRule, ResourceSlice
from mooring.framework.listers import Lister

Changed = Callable[[Any, Any], None]


class TaintedSlices(Lister[ResourceSlice]):
    """A lister of slices as the rules change them. Owned by the scheduling loop."""

    def __init__(self, slices: Lister[ResourceSlice], rules: Lister[DeviceTaintRule]) -> None:
        self._slices = slices
        self._rules = rules
        #: The slices that rules change, by name.
        self._tainted: dict[str, ResourceSlice] = {}
        self._subscribers: list[Changed] = []
        rules.subscribe(self._rule_changed)
        slices.subscribe(self._slice_changed)

    @property
    def version(self) -> int:  # type: ignore[override]
        """A number that grows with every change of a slice or a rule."""
        return self._slices.version + self._rules.version

    def get(self, name: str, namespace: str = "") -> ResourceSlice | None:
        """Return one slice, or None."""
        return self._tainted.get(name) or self._slices.get(name)

    def list(self, namespace: str | None = None) -> Iterable[ResourceSlice]:
        """Return all slices."""
        return map(self._now, self._slices.list())

    def add_index(self, index: str, keys: Callable[[Any], Iterable[Hashable]]) -> None:
        """Add an index by anything but the taints of devices."""
        self._slices.add_index(index, keys)

    def by_index(self, index: str, key: Hashable) -> Iterable[ResourceSlice]:
        """Return the slices that an index lists under `key`."""
        return map(self._now, self._slices.by_index(index, key))

    def subscribe(self, changed: Changed) -> None:
        """Call `changed(old, new)` for every slice, and for each change from now on."""
        self._subscribers.append(changed)
        for one in self.list():
            changed(None, one)

    def _now(self, one: ResourceSlice) -> ResourceSlice:
        return self._tainted.get(one.metadata.name, one)

    def _slice_changed(self, old: ResourceSlice | None, new: ResourceSlice | None) -> None:
        if old is not None:
            old = self._tainted.pop(old.metadata.name, old)
        self._tell(old, None if new is None else self._taint(new))

    def _rule_changed(self, old: DeviceTaintRule | None, new: DeviceTaintRule | None) -> None:
        changed = [rule for rule in (old, new) if rule is not None]
        for one in list(self._slices.list()):
            if any(_selects(rule, one) for rule in changed):
                before = self._tainted.pop(one.metadata.name, one)
                after = self._taint(one)
                if after != before:
                    self._tell(before, after)

    def _tell(self, old: ResourceSlice | None, new: ResourceSlice | None) -> None:
        for changed in self._subscribers:
            changed(old, new)

    def _taint(self, one: ResourceSlice) -> ResourceSlice:
        """Return a slice with the taints of all rules, and remember it if there are any."""
        rules = [rule for rule in self._rules.list() if _selects(rule, one)]
        if not rules:
            return one
        devices = tuple(
            replace(
                device,
                taints=(
                    *device.taints,
                    *(rule.spec.taint for rule in rules if _names(rule, device.name)),
                ),
            )
            for device in one.spec.devices
        )
        if devices == one.spec.devices:
            return one
        tainted = replace(one, spec=replace(one.spec, devices=devices))
        self._tainted[one.metadata.name] = tainted
        return tainted


def _selects(rule: DeviceTaintRule, one: ResourceSlice) -> bool:
    """Return whether a rule may select devices of a slice; without a selector it selects none."""
    selector = rule.spec.device_selector
    return (
        selector is not None
        and selector.driver in (None, one.spec.driver)
        and selector.pool in (None, one.spec.pool.name)
    )


def _names(rule: DeviceTaintRule, device: str) -> bool:
    selector = rule.spec.device_selector
    return selector is not None and selector.device in (None, device)
