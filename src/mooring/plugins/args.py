"""The arguments of the in-tree plugins: shape, defaults and checks, one Struct each.

`with_defaults` fills in what depends on feature gates or on other fields; `validate` returns errors
worded as kube-scheduler's. The configuration loader calls both, in this order.
"""

# kube-scheduler: apis/config/v1/defaults.go, apis/config/validation/validation_pluginargs.go

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import msgspec

from mooring.api.durations import Duration
from mooring.api.field_errors import (
    FieldError,
    child,
    duplicate,
    each,
    forbidden,
    invalid,
    not_supported,
    required,
)
from mooring.api.names import label_key_problems
from mooring.api.node_selectors import NodeTerms, Term
from mooring.api.scheduling import NodeAffinity, TopologySpreadConstraint
from mooring.framework.features import FeatureGates
from mooring.framework.preemption import candidate_node_errors
from mooring.typing import Int32, Int64

MAX_CUSTOM_PRIORITY_SCORE = 10
FILTER_TIMEOUT = Duration.from_seconds(10)
BINDING_TIMEOUT = Duration.from_seconds(600)
#: The default of celCostBudget: about two seconds, and five times the most that one evaluation may
#: cost.
CEL_COST_BUDGET = 5_000_000
_SECOND = Duration.from_seconds(1)


class InTreeArgs(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The base class of the in-tree plugins' arguments."""

    def with_defaults(self, gates: FeatureGates) -> Self:
        """Return the arguments with every default filled in."""
        return self

    def validate(self, path: str, gates: FeatureGates) -> list[FieldError]:
        """Return the validation errors of the defaulted arguments at `path`."""
        return []


class DefaultPreemptionArgs(InTreeArgs, frozen=True, kw_only=True):
    """The limits of the search for nodes on which preemption helps."""

    #: The smallest share of nodes to shortlist as candidates, in percent.
    min_candidate_nodes_percentage: Int32 = 10
    #: The smallest number of nodes to shortlist as candidates.
    min_candidate_nodes_absolute: Int32 = 100

    def validate(self, path: str, gates: FeatureGates) -> list[FieldError]:
        """Return the validation errors."""
        return candidate_node_errors(
            path, self.min_candidate_nodes_percentage, self.min_candidate_nodes_absolute
        )


class InterPodAffinityArgs(InTreeArgs, frozen=True, kw_only=True):
    """The weight of existing pods' affinity."""

    #: The score of required affinity terms of existing pods, from 0 to 100.
    hard_pod_affinity_weight: Int32 = 1
    #: Whether preferred terms of existing pods are ignored unless the new pod has affinity.
    ignore_preferred_terms_of_existing_pods: bool = False

    def validate(self, path: str, gates: FeatureGates) -> list[FieldError]:
        """Return the validation errors."""
        weight = self.hard_pod_affinity_weight
        if 0 <= weight <= 100:
            return []
        return [
            invalid(child(path, "hardPodAffinityWeight"), weight, "not in valid range [0, 100]")
        ]


class NodeAffinityArgs(InTreeArgs, frozen=True, kw_only=True):
    """A node affinity that is added to that of every pod of the profile."""

    #: A node affinity that applies to every pod, in addition to the pod's own.
    added_affinity: NodeAffinity | None = None

    def validate(self, path: str, gates: FeatureGates) -> list[FieldError]:
        """Return the validation errors."""
        affinity = self.added_affinity
        if affinity is None:
            return []
        errors: list[FieldError] = []
        path = child(path, "addedAffinity")
        needed = affinity.required_during_scheduling_ignored_during_execution
        if needed is not None:
            where = child(path, "requiredDuringSchedulingIgnoredDuringExecution")
            errors += NodeTerms.parse(needed, f"{where}.").errors
        preferred = affinity.preferred_during_scheduling_ignored_during_execution
        where = child(path, "preferredDuringSchedulingIgnoredDuringExecution")
        for index, term in enumerate(preferred):
            if term.weight:
                errors += Term.parse(term.preference, f"{where}[{index}].").errors
        return errors


class ResourceSpec(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A resource and its weight; a weight of 0 counts as 1."""

    #: The name of the resource.
    name: str = ""
    #: The weight of the resource; 0 means 1.
    weight: Int64 = 0


class UtilizationShapePoint(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The score (0 to 10) at a utilization (0 to 100)."""

    #: The utilization in percent, from 0 to 100.
    utilization: Int32 = 0
    #: The score at that utilization, from 0 to 10.
    score: Int32 = 0


class RequestedToCapacityRatioParam(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A scoring function, given by points."""

    #: The points of the function from utilization to score.
    shape: tuple[UtilizationShapePoint, ...] = ()


DEFAULT_RESOURCES = (ResourceSpec(name="cpu", weight=1), ResourceSpec(name="memory", weight=1))
LEAST_ALLOCATED = "LeastAllocated"
MOST_ALLOCATED = "MostAllocated"
REQUESTED_TO_CAPACITY_RATIO = "RequestedToCapacityRatio"
SCORING_STRATEGIES = (LEAST_ALLOCATED, MOST_ALLOCATED, REQUESTED_TO_CAPACITY_RATIO)


class ScoringStrategy(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The way in which NodeResourcesFit scores."""

    #: `LeastAllocated`, `MostAllocated` or `RequestedToCapacityRatio`.
    type: str = ""
    #: The resources that count, with their weights; cpu and memory by default.
    resources: tuple[ResourceSpec, ...] = ()
    #: The settings of RequestedToCapacityRatio.
    requested_to_capacity_ratio: RequestedToCapacityRatioParam | None = None


class NodeResourcesFitArgs(InTreeArgs, frozen=True, kw_only=True):
    """The resources that the filter ignores, and the scoring strategy."""

    #: Extended resources that are not checked.
    ignored_resources: tuple[str, ...] = ()
    #: Groups of extended resources, such as `example.com`, that are not checked.
    ignored_resource_groups: tuple[str, ...] = ()
    #: How nodes are scored.
    scoring_strategy: ScoringStrategy = ScoringStrategy(
        type=LEAST_ALLOCATED, resources=DEFAULT_RESOURCES
    )

    def with_defaults(self, gates: FeatureGates) -> Self:
        """Return the arguments with the strategy's resources and weights filled in."""
        strategy = self.scoring_strategy
        resources = _weighted(strategy.resources)
        return msgspec.structs.replace(
            self, scoring_strategy=msgspec.structs.replace(strategy, resources=resources)
        )

    def validate(self, path: str, gates: FeatureGates) -> list[FieldError]:
        """Return the validation errors."""
        errors = []
        for index, name in enumerate(self.ignored_resources):
            where = f"{child(path, 'ignoredResources')}[{index}]"
            errors += each(where, name, label_key_problems(name))
        for index, group in enumerate(self.ignored_resource_groups):
            where = f"{child(path, 'ignoredResourceGroups')}[{index}]"
            if "/" in group:
                errors.append(invalid(where, group, "resource group name can't contain '/'"))
            errors += each(where, group, label_key_problems(group))
        return errors + _strategy_errors(child(path, "scoringStrategy"), self.scoring_strategy)


class NodeResourcesBalancedAllocationArgs(InTreeArgs, frozen=True, kw_only=True):
    """The resources whose use is balanced."""

    #: The resources to balance, with their weights.
    resources: tuple[ResourceSpec, ...] = DEFAULT_RESOURCES

    def with_defaults(self, gates: FeatureGates) -> Self:
        """Return the arguments with resources and weights filled in."""
        return msgspec.structs.replace(self, resources=_weighted(self.resources))

    def validate(self, path: str, gates: FeatureGates) -> list[FieldError]:
        """Return the validation errors."""
        errors = []
        seen: set[str] = set()
        for index, resource in enumerate(self.resources):
            where = f"{child(path, 'resources')}[{index}]"
            if resource.name in seen:
                errors.append(duplicate(child(where, "name"), resource.name))
            seen.add(resource.name)
            if resource.weight != 1:
                errors.append(invalid(child(where, "weight"), resource.weight, "must be 1"))
        return errors


SYSTEM_DEFAULTING = "System"
LIST_DEFAULTING = "List"
_ACTIONS = ("DoNotSchedule", "ScheduleAnyway")


class PodTopologySpreadArgs(InTreeArgs, frozen=True, kw_only=True):
    """The spread constraints of pods that have none of their own."""

    #: The constraints of pods without their own; only with `defaultingType: List`.
    default_constraints: tuple[TopologySpreadConstraint, ...] = ()
    #: `System` for the built-in constraints, or `List`.
    defaulting_type: str = SYSTEM_DEFAULTING

    def with_defaults(self, gates: FeatureGates) -> Self:
        """Return the arguments with the defaulting type filled in."""
        return msgspec.structs.replace(
            self, defaulting_type=self.defaulting_type or SYSTEM_DEFAULTING
        )

    def validate(self, path: str, gates: FeatureGates) -> list[FieldError]:
        """Return the validation errors."""
        errors = []
        kind, where = self.defaulting_type, child(path, "defaultingType")
        if kind not in (SYSTEM_DEFAULTING, LIST_DEFAULTING):
            errors.append(not_supported(where, kind, (SYSTEM_DEFAULTING, LIST_DEFAULTING)))
        elif kind == SYSTEM_DEFAULTING and self.default_constraints:
            errors.append(invalid(where, kind, "when .defaultConstraints are not empty"))
        seen: set[tuple[str, str]] = set()
        for index, constraint in enumerate(self.default_constraints):
            where = f"{child(path, 'defaultConstraints')}[{index}]"
            errors += _constraint_errors(where, constraint)
            pair = (constraint.topology_key, constraint.when_unsatisfiable)
            if pair in seen:
                errors.append(duplicate(where, f"{{{pair[0]}, {pair[1]}}}"))
            seen.add(pair)
        return errors


class VolumeBindingArgs(InTreeArgs, frozen=True, kw_only=True):
    """The timeout for binding volumes, and how storage capacity is scored."""

    #: The longest time to wait for volumes to be bound.
    bind_timeout_seconds: Int64 = 600
    #: The points of the scoring function; only with the gate StorageCapacityScoring.
    shape: tuple[UtilizationShapePoint, ...] = ()

    def with_defaults(self, gates: FeatureGates) -> Self:
        """Return the arguments with the default shape if StorageCapacityScoring is enabled."""
        if self.shape or not gates.enabled("StorageCapacityScoring"):
            return self
        points = (
            UtilizationShapePoint(utilization=0, score=MAX_CUSTOM_PRIORITY_SCORE),
            UtilizationShapePoint(utilization=100, score=0),
        )
        return msgspec.structs.replace(self, shape=points)

    def validate(self, path: str, gates: FeatureGates) -> list[FieldError]:
        """Return the validation errors."""
        errors = []
        if self.bind_timeout_seconds < 0:
            text = "invalid BindTimeoutSeconds, should not be a negative value"
            where = child(path, "bindTimeoutSeconds")
            errors.append(invalid(where, self.bind_timeout_seconds, text))
        if gates.enabled("StorageCapacityScoring"):
            errors += _shape_errors(child(path, "shape"), self.shape)
        elif self.shape:
            text = (
                "unexpected field `shape`, remove it or turn on the feature gate "
                "StorageCapacityScoring"
            )
            # kube-scheduler prints its internal type, whose fields have no JSON names.
            shape = [{"Utilization": one.utilization, "Score": one.score} for one in self.shape]
            errors.append(invalid(child(path, "shape"), shape, text))
        return errors


class DynamicResourcesArgs(InTreeArgs, frozen=True, kw_only=True):
    """The timeouts for allocating and preparing devices."""

    #: The longest time to look for devices on one node; `10s` by default, 0 means no limit.
    filter_timeout: Duration | None = None
    #: The longest time to wait for the binding conditions of devices; `600s` by default.
    binding_timeout: Duration | None = None
    #: What the CEL expressions of one attempt may cost together, in units of CEL cost; 5000000 by
    #: default. Not in kube-scheduler.
    cel_cost_budget: Int64 | None = None

    def with_defaults(self, gates: FeatureGates) -> Self:
        """Return the arguments with the default timeouts of the enabled gates."""
        filter_timeout, binding_timeout = self.filter_timeout, self.binding_timeout
        if filter_timeout is None and gates.enabled("DRASchedulerFilterTimeout"):
            filter_timeout = FILTER_TIMEOUT
        if binding_timeout is None and _binding_conditions(gates):
            binding_timeout = BINDING_TIMEOUT
        return msgspec.structs.replace(
            self, filter_timeout=filter_timeout, binding_timeout=binding_timeout
        )

    def validate(self, path: str, gates: FeatureGates) -> list[FieldError]:
        """Return the validation errors."""
        errors = []
        if self.filter_timeout is not None:
            where = child(path, "filterTimeout")
            if not gates.enabled("DRASchedulerFilterTimeout"):
                text = "DRASchedulingFilterTimeout feature gate is disabled"
                errors.append(forbidden(where, text))
            elif self.filter_timeout < 0:
                errors.append(invalid(where, self.filter_timeout, "must be zero or positive"))
        if self.binding_timeout is not None:
            where = child(path, "bindingTimeout")
            if not _binding_conditions(gates):
                text = (
                    "DRADeviceBindingConditions or DRAResourceClaimDeviceStatus feature gate "
                    "is disabled"
                )
                errors.append(forbidden(where, text))
            elif self.binding_timeout < _SECOND:
                errors.append(invalid(where, self.binding_timeout, "must be at least 1 second"))
        if self.cel_cost_budget is not None and self.cel_cost_budget <= 0:
            where = child(path, "celCostBudget")
            errors.append(invalid(where, self.cel_cost_budget, "must be greater than zero"))
        return errors


def _weighted(resources: Sequence[ResourceSpec]) -> tuple[ResourceSpec, ...]:
    return tuple(
        resource if resource.weight else msgspec.structs.replace(resource, weight=1)
        for resource in resources or DEFAULT_RESOURCES
    )


def _binding_conditions(gates: FeatureGates) -> bool:
    return gates.enabled("DRADeviceBindingConditions") and gates.enabled(
        "DRAResourceClaimDeviceStatus"
    )


def _strategy_errors(path: str, strategy: ScoringStrategy) -> list[FieldError]:
    errors = []
    if strategy.type not in SCORING_STRATEGIES:
        errors.append(not_supported(child(path, "type"), strategy.type, SCORING_STRATEGIES))
    for index, resource in enumerate(strategy.resources):
        if not 0 < resource.weight <= 100:
            text = f"resource weight of {resource.name} not in valid range (0, 100]"
            where = f"{child(path, 'resources')}[{index}].weight"
            errors.append(invalid(where, resource.weight, text))
    ratio, where = strategy.requested_to_capacity_ratio, child(path, "requestedToCapacityRatio")
    if strategy.type == REQUESTED_TO_CAPACITY_RATIO:
        if ratio is None:
            text = "must be specified when type is RequestedToCapacityRatio"
            errors.append(required(where, text))
        else:
            errors += _shape_errors(child(where, "shape"), ratio.shape)
    elif ratio is not None:
        errors.append(forbidden(where, "must be nil when type is not RequestedToCapacityRatio"))
    return errors


def _shape_errors(path: str, shape: Sequence[UtilizationShapePoint]) -> list[FieldError]:
    if not shape:
        return [required(path, "at least one point must be specified")]
    errors = []
    for index in range(1, len(shape)):
        if shape[index - 1].utilization >= shape[index].utilization:
            text = "values must be sorted in increasing order"
            where = f"{path}[{index}].utilization"
            errors.append(invalid(where, shape[index].utilization, text))
            break
    for index, point in enumerate(shape):
        for name, value, limit in (
            ("utilization", point.utilization, 100),
            ("score", point.score, MAX_CUSTOM_PRIORITY_SCORE),
        ):
            if not 0 <= value <= limit:
                text = f"not in valid range [0, {limit}]"
                errors.append(invalid(f"{path}[{index}].{name}", value, text))
    return errors


def _constraint_errors(path: str, constraint: TopologySpreadConstraint) -> list[FieldError]:
    errors = []
    if constraint.max_skew <= 0:
        where = child(path, "maxSkew")
        errors.append(invalid(where, constraint.max_skew, "not in valid range (0, inf)"))
    where = child(path, "topologyKey")
    if not constraint.topology_key:
        errors.append(required(where, "can not be empty"))
    else:
        errors += each(where, constraint.topology_key, label_key_problems(constraint.topology_key))
    where = child(path, "whenUnsatisfiable")
    if not constraint.when_unsatisfiable:
        errors.append(required(where, "can not be empty"))
    elif constraint.when_unsatisfiable not in _ACTIONS:
        errors.append(not_supported(where, constraint.when_unsatisfiable, _ACTIONS))
    if constraint.label_selector is not None:
        text = "constraint must not define a selector, as they deduced for each pod"
        errors.append(forbidden(child(path, "labelSelector"), text))
    return errors
