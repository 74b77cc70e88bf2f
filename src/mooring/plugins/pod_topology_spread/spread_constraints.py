"""Spread constraints, parsed: what a pod says of its spreading, or what the profile says for it."""

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
#: Longer lists of constraints are remembered as a whole, for this many pods.
_MANY = 16
_LONG_LIMIT = 64

#: Keep apart by host and, less, by zone. # kube-scheduler: plugins/podtopologyspread/plugin.go
SYSTEM_DEFAULT_CONSTRAINTS = (
    TopologySpreadConstraint(topology_key=HOSTNAME, when_unsatisfiable=SCHEDULE_ANYWAY, max_skew=3),
    TopologySpreadConstraint(topology_key=ZONE, when_unsatisfiable=SCHEDULE_ANYWAY, max_skew=5),
)


class SpreadConstraint(msgspec.Struct, frozen=True):
    """Spread the pods that a selector matches, in the namespace of the pod that asks."""

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
    """Parse one constraint of a pod with these labels; a malformed selector raises ObjectError."""
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
    """Parse pods' constraints, and remember: pods of one template say the same."""

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
        """Parse a long list, and remember it as a whole: every event asks for it again."""
        key = (id(constraints), when_unsatisfiable)
        known = self._long.get(key)
        # The memo holds the list alive, so that no other can have its id.
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
