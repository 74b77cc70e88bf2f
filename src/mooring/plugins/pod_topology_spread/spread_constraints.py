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
    if match_label_keys:
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

    def parse(
        self,
        constraints: Iterable[TopologySpreadConstraint],
        labels: Mapping[str, str],
        when_unsatisfiable: str,
    ) -> Constraints:
        """Parse the constraints with one action, DoNotSchedule or ScheduleAnyway."""
        return tuple(
            self._parse(constraint, labels)
            for constraint in constraints
            if constraint.when_unsatisfiable == when_unsatisfiable
        )

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
