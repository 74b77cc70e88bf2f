"""The results of claims' expressions, for tests of the search alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mooring.api import ResourceClaim, ResourceSlice
from mooring.plugins.dynamic_resources.cel_budget import CelBudget
from mooring.plugins.dynamic_resources.claim_reads import ClaimDevicesView, ClaimReads, Classes
from mooring.plugins.dynamic_resources.derived_attributes import DerivedAttributes
from mooring.plugins.dynamic_resources.device_columns import DeviceColumns
from mooring.plugins.dynamic_resources.selectors import SelectorCache


def evaluated(
    claims: Sequence[ResourceClaim],
    classes: Classes,
    slices: Iterable[ResourceSlice],
    *,
    lists: bool = True,
    derived: bool = True,
) -> ClaimDevicesView:
    """Evaluate the expressions of claims for the devices of some slices."""
    columns = DeviceColumns(lists=lists)
    for one in slices:
        columns.change(None, one)
    reads = ClaimReads(
        columns,
        SelectorCache(lists=lists),
        lists=lists,
        capacity=True,
        derived=DerivedAttributes() if derived else None,
    )
    view = reads.of(claims, classes)
    view.evaluate(claims, CelBudget(10**9))
    return view
