"""Parsed spread constraints, of a pod or by default of its profile."""

# kube-scheduler: plugins/podtopologyspread/common.go

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping

import msgspec

from mooring.api import NOTHING, Requirement, Selector, TopologySpreadConstraint
from mooring.api.labels import IN

DO_NOT_SCHEDULE = "DoNotSchedule"
SCHEDULE_ANYWAY = "ScheduleAnyway"
HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"

_HONOR = "Honor"
_MEMO_LIMIT = 4096
#: Lists with more constraints than `_MANY` are cached as a whole, up to `_LONG_LIMIT` lists.
_MANY = 16
_LONG_LIMIT = 64

# kube-scheduler: plugins/podtopologyspread/plugin.go
#: Spread over hosts and, with a larger skew, over zones.
SYSTEM_DEFAULT_CONSTRAINTS = (
    TopologySpreadConstraint(topology_key=HOSTNAME, when_unsatisfiable=SCHEDULE_ANYWAY, max_skew=3),
    TopologySpreadConstraint(topology_key=ZONE, when_unsatisfiable=SCHEDULE_ANYWAY, max_skew=5),
)


class SpreadConstraint(msgspec.Struct, frozen=True):
    """A constraint on the spread of pods that match a selector, in the incoming pod's namespace."""

    max_skew: int
    topology_key: str
    selector: Selector = NOTHING
    min_domains: int = 1
    #: Whether nodes that the pod's node affinity or selector excludes are left out.
    honor_affinity: bool = True
    #: Whether nodes with taints that the pod does not tolerate are left out.
    honor_taints: bool = False


Constraints = tuple[SpreadConstraint, ...]


def parse(
    constraint: TopologySpreadConstraint, labels: Mapping[str, str], match_label_keys: bool = True
) -> SpreadConstraint:
    """Parse a constraint of a pod with these labels; raise ObjectError if it is malformed."""
    selector = Selector.from_label_selector(constraint.label_selector)
    if match_label_keys and constraint.match_label_keys:
        selector = selector.add(
            *(
                Requirement.trusted(key, IN, (labels[key],))
                for key in constraint.match_label_keys
                if key in labels
            )
        )
    affinity, taints = constraint.node_affinity_policy, constraint.node_taints_policy
    return SpreadConstraint(
        max_skew=constraint.max_skew,
        topology_key=constraint.topology_key,
        selector=selector,
        min_domains=1 if constraint.min_domains is None else constraint.min_domains,
        honor_affinity=affinity is None or affinity == _HONOR,
        honor_taints=taints == _HONOR,
    )


class ConstraintParser:
    """A parser of constraints with a cache, since pods of one template have the same ones."""

    def __init__(self, match_label_keys: bool) -> None:
        self._match_label_keys = match_label_keys
        self._memo: dict[Hashable, SpreadConstraint] = {}
        #: By the id of a pod's long list and the action: the list, the pod's labels, the result.
        self._long: dict[
            tuple[int, str],
            tuple[tuple[TopologySpreadConstraint, ...], Mapping[str, str], Constraints],
        ] = {}

    def parse(
        self,
        constraints: Iterable[TopologySpreadConstraint],
        labels: Mapping[str, str],
        when_unsatisfiable: str,
    ) -> Constraints:
        """Parse the constraints with one action, DoNotSchedule or ScheduleAnyway."""
        constraints = tuple(constraints)
        if len(constraints) > _MANY:
            return self._parse_many(constraints, labels, when_unsatisfiable)
        return tuple(
            self._parse(constraint, labels)
            for constraint in constraints
            if constraint.when_unsatisfiable == when_unsatisfiable
        )

    def _parse_many(
        self,
        constraints: tuple[TopologySpreadConstraint, ...],
        labels: Mapping[str, str],
        when_unsatisfiable: str,
    ) -> Constraints:
        """Parse a long list and cache it as a whole, because every event parses it again."""
        key = (id(constraints), when_unsatisfiable)
        known = self._long.get(key)
        # The cache keeps the list alive, so no other list can have its id.
        if known is not None and known[1] == labels:
            return known[2]
        if len(self._long) >= _LONG_LIMIT:
            self._long.clear()
        parsed = tuple(
            parse(constraint, labels, self._match_label_keys)
            for constraint in constraints
            if constraint.when_unsatisfiable == when_unsatisfiable
        )
        self._long[key] = (constraints, labels, parsed)
        return parsed

    def _parse(
        self, constraint: TopologySpreadConstraint, labels: Mapping[str, str]
    ) -> SpreadConstraint:
        selector = constraint.label_selector
        key = (
            constraint.max_skew,
            constraint.topology_key,
            selector is not None and tuple(selector.match_labels.items()),
            selector is not None and selector.match_expressions,
            constraint.min_domains,
            constraint.node_affinity_policy,
            constraint.node_taints_policy,
            tuple((name, labels.get(name)) for name in constraint.match_label_keys),
        )
        parsed = self._memo.get(key)
        if parsed is None:
            if len(self._memo) >= _MEMO_LIMIT:
                self._memo.clear()
            parsed = self._memo[key] = parse(constraint, labels, self._match_label_keys)
        return parsed
