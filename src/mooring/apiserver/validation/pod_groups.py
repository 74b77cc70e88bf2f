"""Pod groups, composite pod groups and workloads of scheduling.k8s.io."""

# kubernetes: pkg/apis/scheduling/validation/validation.go,
# pkg/apis/scheduling/{v1beta1,v1alpha3}/zz_generated.validations.go

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from mooring.api.field_errors import FieldError, duplicate, invalid, required
from mooring.apiserver.validation.declared_rules import (
    CheckedValue,
    FieldRules,
    Stop,
    TypeRules,
    at_most,
    check_declared,
    fixed,
    formatted,
    gated,
    if_on,
    kept,
    maximum,
    minimum,
    needed,
    one_of,
    optional,
    same_items,
)
from mooring.apiserver.validation.field_problems import Object
from mooring.apiserver.validation.formats import (
    label_key_problems,
    label_problems,
    path_segment_problems,
    subdomain_problems,
)
from mooring.apiserver.validation.statuses import check_conditions

#: The gates of pod groups that the API server asks about.
GENERIC_WORKLOAD = "GenericWorkload"
TOPOLOGY = "TopologyAwareWorkloadScheduling"
COMPOSITE = "CompositePodGroup"
PREEMPTION_POLICY = "PodGroupPreemptionPolicy"
CLAIMS = "DRAWorkloadResourceClaims"

MAX_TEMPLATES, MAX_CLAIMS, MAX_DEPTH = 8, 4, 4
HIGHEST_PRIORITY = 1_000_000_000

NO_WORKLOAD = "must be set when parentCompositePodGroupName is set"
NOT_A_CLAIM = "must match the name of an entry in `spec.resourceClaims`"
TOO_DEEP = f"maximum template hierarchy depth is {MAX_DEPTH}"
PRIORITIES = "detected multiple priority configurations"
TREE_PRIORITIES = (
    "all priority and priorityClassName values must be identical, detected multiple values"
)
CHILDLESS = "must have at least one child PodGroupTemplate or CompositePodGroupTemplate"

_LABEL = formatted(label_problems)
_SUBDOMAIN = formatted(subdomain_problems)


def _templates(name: str, type: str, *first: Stop) -> FieldRules:
    stops = (*first, at_most(MAX_TEMPLATES), optional, same_items("name"))
    return FieldRules(name, stops, type=type, key="name", is_list=True)


def _pointer(name: str, *stops: Stop, type: str = "") -> FieldRules:
    return FieldRules(name, stops, type=type, is_pointer=True)


_PRIORITY = (
    FieldRules("priorityClassName", (fixed, optional), (_SUBDOMAIN,)),
    FieldRules("priority", (fixed, optional), (maximum(HIGHEST_PRIORITY),), is_pointer=True),
    FieldRules(
        "preemptionPolicy",
        (gated(PREEMPTION_POLICY), fixed),
        (one_of("Never", "PreemptLowerPriority"),),
        is_pointer=True,
    ),
)
_RESOURCE_CLAIMS = FieldRules(
    "resourceClaims",
    (fixed, at_most(MAX_CLAIMS), optional),
    type="PodGroupResourceClaim",
    key="name",
    is_list=True,
)
_NAME = FieldRules("name", (needed,), (_LABEL,))
_MODES = TypeRules((_pointer("single", optional), _pointer("all", optional)), (("single", "all"),))
_CONSTRAINTS = TypeRules(
    (FieldRules("topology", (at_most(1), optional), type="TopologyConstraint", is_list=True),)
)


def _policy(gang: str) -> TypeRules:
    return TypeRules(
        (_pointer("basic", fixed, optional), _pointer("gang", optional, kept, type=gang)),
        (("basic", "gang"),),
    )


def _count(name: str) -> TypeRules:
    return TypeRules((FieldRules(name, (needed,), (minimum(1),)),))


#: The rules of the types, by name; both versions have the same.
RULES: Mapping[str, TypeRules] = {
    "PodGroup": TypeRules(
        (FieldRules("spec", type="PodGroupSpec"), FieldRules("status", type="PodGroupStatus"))
    ),
    "PodGroupSpec": TypeRules(
        (
            FieldRules(
                "parentCompositePodGroupName",
                (gated(COMPOSITE), fixed),
                (_SUBDOMAIN,),
                is_pointer=True,
            ),
            _pointer("workloadRef", fixed, optional, type="WorkloadReference"),
            FieldRules("schedulingPolicy", type="PodGroupSchedulingPolicy"),
            _pointer(
                "schedulingConstraints",
                gated(TOPOLOGY),
                if_on(TOPOLOGY, fixed),
                type="SchedulingConstraints",
            ),
            _RESOURCE_CLAIMS,
            _pointer("disruptionMode", fixed, needed, type="DisruptionMode"),
            *_PRIORITY,
        )
    ),
    "PodGroupStatus": TypeRules(
        (
            FieldRules(
                "resourceClaimStatuses",
                (at_most(MAX_CLAIMS), optional),
                type="PodGroupResourceClaimStatus",
                key="name",
                is_list=True,
            ),
        )
    ),
    "CompositePodGroup": TypeRules((FieldRules("spec", type="CompositePodGroupSpec"),)),
    "CompositePodGroupSpec": TypeRules(
        (
            FieldRules(
                "parentCompositePodGroupName", (fixed, optional), (_SUBDOMAIN,), is_pointer=True
            ),
            _pointer("workloadRef", fixed, needed, type="WorkloadReference"),
            FieldRules("schedulingPolicy", (fixed,), type="CompositeSchedulingPolicy"),
            _pointer("schedulingConstraints", fixed, optional, type="SchedulingConstraints"),
            _pointer("disruptionMode", fixed, needed, type="DisruptionMode"),
            *_PRIORITY,
        )
    ),
    "Workload": TypeRules((FieldRules("spec", type="WorkloadSpec"),)),
    "WorkloadSpec": TypeRules(
        (
            _pointer("controllerRef", fixed, optional, type="TypedLocalObjectReference"),
            _templates("podGroupTemplates", "PodGroupTemplate"),
            _templates("compositePodGroupTemplates", "CompositePodGroupTemplate", gated(COMPOSITE)),
        ),
        (("podGroupTemplates", "compositePodGroupTemplates"),),
    ),
    "PodGroupTemplate": TypeRules(
        (
            _NAME,
            FieldRules("schedulingPolicy", type="PodGroupSchedulingPolicy"),
            _pointer("schedulingConstraints", gated(TOPOLOGY), fixed, type="SchedulingConstraints"),
            _RESOURCE_CLAIMS,
            _pointer("disruptionMode", fixed, optional, type="DisruptionMode"),
            *_PRIORITY,
        )
    ),
    "CompositePodGroupTemplate": TypeRules(
        (
            _NAME,
            FieldRules("schedulingPolicy", type="CompositeSchedulingPolicy"),
            _pointer("schedulingConstraints", fixed, optional, type="SchedulingConstraints"),
            _pointer("disruptionMode", fixed, optional, type="DisruptionMode"),
            *_PRIORITY,
            _templates("podGroupTemplates", "PodGroupTemplate"),
            _templates("compositePodGroupTemplates", "CompositePodGroupTemplate"),
        )
    ),
    "PodGroupSchedulingPolicy": _policy("GangSchedulingPolicy"),
    "GangSchedulingPolicy": _count("minCount"),
    "CompositeSchedulingPolicy": _policy("CompositeGangSchedulingPolicy"),
    "CompositeGangSchedulingPolicy": _count("minGroupCount"),
    "SchedulingConstraints": _CONSTRAINTS,
    "TopologyConstraint": TypeRules(
        (FieldRules("key", (needed,), (formatted(label_key_problems),)),)
    ),
    "DisruptionMode": _MODES,
    "PodGroupResourceClaim": TypeRules(
        (
            _NAME,
            FieldRules("resourceClaimName", (optional,), (_SUBDOMAIN,), is_pointer=True),
            FieldRules("resourceClaimTemplateName", (optional,), (_SUBDOMAIN,), is_pointer=True),
        ),
        (("resourceClaimName", "resourceClaimTemplateName"),),
    ),
    "PodGroupResourceClaimStatus": TypeRules(
        (FieldRules("resourceClaimName", (optional,), (_SUBDOMAIN,), is_pointer=True),)
    ),
    "WorkloadReference": TypeRules(
        (
            FieldRules("workloadName", (needed,), (_SUBDOMAIN,)),
            FieldRules("templateName", (needed,), (_LABEL,)),
        )
    ),
    "TypedLocalObjectReference": TypeRules(
        (
            FieldRules("apiGroup", (optional,), (_SUBDOMAIN,)),
            FieldRules("kind", (needed,), (formatted(path_segment_problems),)),
            FieldRules("name", (needed,), (formatted(path_segment_problems),)),
        )
    ),
}


def check_group_rules(
    kind: str, obj: Object, old: Object | None, features: Collection[str]
) -> list[FieldError]:
    """Return what the declared rules refuse in a group or workload; `old` is None for a new one."""
    return check_declared(RULES, kind, CheckedValue("", obj, old, old is not None, features))


def check_pod_group(group: Object) -> list[FieldError]:
    """Check that a new pod group with a parent names its workload."""
    spec = group["spec"]
    if spec.get("parentCompositePodGroupName") is None or spec.get("workloadRef") is not None:
        return []
    return [required("spec.workloadRef", NO_WORKLOAD)]


def check_pod_group_status(group: Object, old: Object) -> list[FieldError]:
    """Check the conditions of a pod group, and the names of its claims."""
    status = group.get("status") or {}
    names = {claim.get("name") for claim in group["spec"].get("resourceClaims") or ()}
    return check_conditions(status, "status.conditions") + [
        invalid(f"status.resourceClaimStatuses[{i}].name", one.get("name") or "", NOT_A_CLAIM)
        for i, one in enumerate(status.get("resourceClaimStatuses") or ())
        if one.get("name") not in names
    ]


def check_composite_status(group: Object, old: Object) -> list[FieldError]:
    """Check the conditions of a composite pod group."""
    return check_conditions(group.get("status") or {}, "status.conditions")


def check_workload(workload: Object) -> list[FieldError]:
    """Check the tree of templates of a workload: names, depth, priorities, children."""
    spec = workload["spec"]
    templates = spec.get("compositePodGroupTemplates") or ()
    path = "spec.compositePodGroupTemplates"
    names = {one.get("name") for one in spec.get("podGroupTemplates") or ()}
    problems = _repeated_names(templates, "spec", names)
    problems += [
        invalid(f"{path}[{i}]", one.get("compositePodGroupTemplates"), TOO_DEEP)
        for i, one in enumerate(templates)
        if _depth(one) >= MAX_DEPTH
    ]
    problems += _priorities(spec)
    for i, one in enumerate(templates):
        problems += _childless(one, f"{path}[{i}]")
    return problems


def _repeated_names(
    templates: Sequence[Object], path: str, names: set[str | None]
) -> list[FieldError]:
    """Refuse composite templates whose names occur above or beside them; add theirs to `names`."""
    where = f"{path}.compositePodGroupTemplates"
    problems = [
        duplicate(f"{where}[{i}].name", one.get("name") or "")
        for i, one in enumerate(templates)
        if one.get("name") in names
    ]
    names.update(one.get("name") for one in templates)
    for i, one in enumerate(templates):
        groups = one.get("podGroupTemplates") or ()
        problems += [
            duplicate(f"{where}[{i}].podGroupTemplates[{j}].name", group.get("name") or "")
            for j, group in enumerate(groups)
            if group.get("name") in names
        ]
        names.update(group.get("name") for group in groups)
        inner = one.get("compositePodGroupTemplates") or ()
        problems += _repeated_names(inner, f"{where}[{i}]", names)
    return problems


def _depth(template: Object) -> int:
    inner = template.get("compositePodGroupTemplates") or ()
    return 1 + max(map(_depth, inner), default=0)


def _priorities(spec: Object) -> list[FieldError]:
    """Refuse templates whose priorities differ."""
    flat = [_priority(one) for one in spec.get("podGroupTemplates") or ()]
    if len(set(flat)) > 1:
        return [invalid("spec", None, PRIORITIES)]
    trees = spec.get("compositePodGroupTemplates") or ()
    found = {*flat, *(priority for tree in trees for priority in _tree_priorities(tree))}
    return [invalid("spec", None, TREE_PRIORITIES)] if len(found) > 1 else []


def _priority(template: Object) -> tuple[str, int | None]:
    return template.get("priorityClassName") or "", template.get("priority")


def _tree_priorities(template: Object) -> Iterator[tuple[str, int | None]]:
    yield _priority(template)
    for inner in template.get("compositePodGroupTemplates") or ():
        yield from _tree_priorities(inner)
    for group in template.get("podGroupTemplates") or ():
        yield _priority(group)


def _childless(template: Object, path: str) -> list[FieldError]:
    inner = template.get("compositePodGroupTemplates") or ()
    problems: list[FieldError] = []
    if not inner and not template.get("podGroupTemplates"):
        problems.append(invalid(path, template.get("name") or "", CHILDLESS))
    for i, one in enumerate(inner):
        problems += _childless(one, f"{path}.compositePodGroupTemplates[{i}]")
    return problems
