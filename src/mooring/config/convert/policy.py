"""Convert the legacy Policy file (predicates, priorities, extenders) of kube-scheduler 1.22.

A Policy is the complete set: what it does not name does not run, apart from two mandatory
predicates and what no Policy could name (queue sorting, preemption, binding, and plugins for pod
features that came later). If `predicates` or `priorities` is absent, its defaults apply; if it is
empty, nothing does.
"""

# kube-scheduler 1.22: framework/plugins/legacy_registry.go, factory.go (createFromPolicy),
# apis/config/validation/validation.go (ValidatePolicy)

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from mooring.config.convert import removed
from mooring.config.convert.converted import Conversion, Converted, Doc
from mooring.config.convert.converted_profile import ConvertedProfile
from mooring.config.convert.default_plugins import (
    CAPACITY_RATIO,
    IN_TREE_POINTS,
    POINTS,
    SPREAD,
    today,
)
from mooring.config.convert.extender_settings import convert_legacy_extenders, fold_case
from mooring.config.convert.plugin_config import PluginArgs
from mooring.config.convert.plugin_set import PluginEntry
from mooring.config.convert.policy_names import (
    ALIASES,
    DEFAULT_PREDICATES,
    DEFAULT_PRIORITIES,
    EQUAL_PRIORITY,
    MANDATORY,
    MAX_WEIGHT,
    PREDICATES,
    PRIORITIES,
)
from mooring.config.convert.schema import can_go_on, check, without_nulls, without_unknown
from mooring.config.decode import suggest
from mooring.config.defaults import API_VERSION, KIND
from mooring.config.positions import parse
from mooring.framework.releases import NEWEST, Release

DEPRECATION = "the Policy file is deprecated (kube-scheduler 1.23 removed it)"
POLICY_KIND = "Policy"
#: Policy was registered in both. # kube-scheduler 1.22: k8s.io/kube-scheduler/config/v1/register.go
POLICY_VERSIONS = ("v1", API_VERSION)

PREDICATE_NOT_FOUND = 'predicate type not found for "{name}"'
PRIORITY_NOT_FOUND = 'priority type not found for "{name}"'
ONE_ARGUMENT = "exactly 1 {what} argument is required, numArgs: {count}"
BAD_WEIGHT = (
    "priority {name} should have a positive weight applied to it or it has overflown, got {weight}"
)
REDECLARED = 'priority "{name}" redeclares custom priority "{kind}", from: "{first}"'
OTHER_WEIGHT = '{kind}  priority "{name}" has a different weight with "{first}"'
ARGUMENT_IGNORED = "is ignored: {name} takes no argument"
CHECK_ALL_GONE = (
    "no longer exists and is left out: it never changed which nodes pass; a refused node names the "
    "first plugin that refused it"
)
CONDITION_HINT = (
    ": taints stand for node conditions, and PodToleratesNodeTaints always runs; take it out"
)
#: Predicates that 1.22 no longer knew.
CONDITIONS = (
    "CheckNodeCondition",
    "CheckNodeMemoryPressure",
    "CheckNodeDiskPressure",
    "CheckNodePIDPressure",
)

#: Argument of a predicate or priority -> the predicate or priority that takes it.
_PREDICATE_ARGUMENTS = {
    "serviceAffinity": "CheckServiceAffinity",
    "labelsPresence": "CheckNodeLabelPresence",
}
_PRIORITY_ARGUMENTS = {
    "serviceAntiAffinity": removed.SERVICE_AFFINITY,
    "labelPreference": removed.NODE_LABEL,
    "requestedToCapacityRatioArguments": CAPACITY_RATIO,
}
#: Plugins that no Policy could name.
_ALWAYS = (
    "SchedulingGates",
    "PrioritySort",
    "DynamicResources",
    "DefaultPreemption",
    "DefaultBinder",
    "NodeDeclaredFeatures",
)


def convert_policy(policy: Doc | str, release: Release = NEWEST) -> Converted:
    """Return the v1 form of a Policy, given as data or as its text (JSON or YAML)."""
    conversion = Conversion(release)
    doc = read_policy_text(conversion, policy) if isinstance(policy, str) else policy
    written: Doc = {"apiVersion": API_VERSION, "kind": KIND}
    if not conversion.errors:
        profile, extenders = read_policy(conversion, doc)
        written["profiles"] = [profile.write("profiles[0]")]
        if extenders:
            written["extenders"] = extenders
    return conversion.finish(written, DEPRECATION)


def read_policy_text(conversion: Conversion, text: str) -> Any:
    """Parse a Policy; a comma after the last item is accepted, as in YAML."""
    document = parse(text)
    for error, mark in document.errors:
        place = "" if mark is None else f"line {mark.line}, column {mark.column}: "
        conversion.refuse(error.path, f"{place}{error.message}")
    for warning in document.warnings:
        conversion.warn("", warning)
    return {} if document.errors else document.data


def read_policy(conversion: Conversion, policy: Any) -> tuple[ConvertedProfile, list[Doc]]:
    """Return the profile equivalent to a Policy, and its extenders in their v1 form."""
    doc = _checked(conversion, policy)
    profile = ConvertedProfile(conversion, {}, "", {point: () for point in POINTS}, "v1")
    profile.instead = [PluginEntry(name, today(conversion.release).get(name)) for name in _ALWAYS]
    weights = _read_priorities(conversion, profile, doc)
    for name, origin in _read_predicates(conversion, profile, doc):
        for plugin in PREDICATES[name]:
            _add(profile, "filter", PluginEntry(plugin, None, origin))
    for name, (weight, origin) in sorted(weights.items()):
        _add(profile, "score", PluginEntry(PRIORITIES[name], weight, origin))
    _set_spreading(profile, weights)
    field = "hardPodAffinitySymmetricWeight"
    if doc.get(field):
        profile.config.put("InterPodAffinity", "hardPodAffinityWeight", doc[field], field)
    if doc.get("alwaysCheckAllPredicates"):
        conversion.warn("alwaysCheckAllPredicates", CHECK_ALL_GONE)
    profile.replace_removed()
    _complete(profile)
    return profile, convert_legacy_extenders(conversion, doc.get("extenders", []))


def _checked(conversion: Conversion, policy: Any) -> Doc:
    """Return the checked document, or an empty one if its fields have wrong types."""
    doc = without_nulls(policy)
    if isinstance(doc, dict):
        for field, known in (("kind", (POLICY_KIND,)), ("apiVersion", POLICY_VERSIONS)):
            if doc.get(field, known[0]) not in known:
                found = json.dumps(doc[field], default=str)
                conversion.refuse(field, f"must be {' or '.join(known)}, got {found}")
        if "extenders" in doc:
            doc["extenders"] = fold_case(
                conversion, doc["extenders"], "[]LegacyExtender", "Policy", "extenders"
            )
    problems = check(doc, "Policy")
    conversion.errors += problems
    return without_unknown(doc, "Policy") if can_go_on(problems) else {}


def _read_predicates(
    conversion: Conversion, profile: ConvertedProfile, doc: Doc
) -> Iterable[tuple[str, str]]:
    """Return the predicates to run, in order, with the path at which each was named."""
    named: dict[str, str] = {}
    for index, predicate in enumerate(doc.get("predicates", [])):
        path = f"predicates[{index}]"
        name = _resolve(conversion, predicate, path, "predicate", PREDICATES, _PREDICATE_ARGUMENTS)
        if name is None:
            continue
        presence = predicate.get("argument", {}).get("labelsPresence")
        if name == "CheckNodeLabelPresence" and presence is not None:
            field = "presentLabels" if presence.get("presence") else "absentLabels"
            _add_labels(profile, field, presence.get("labels", []), path)
        named.setdefault(name, path)
    if "predicates" not in doc:
        named = dict.fromkeys(DEFAULT_PREDICATES, "")
    for name in MANDATORY:
        named.setdefault(name, "")
    return [(name, named[name]) for name in PREDICATES if name in named]


def _read_priorities(
    conversion: Conversion, profile: ConvertedProfile, doc: Doc
) -> dict[str, tuple[int, str]]:
    """Return the priorities to score by, each with its weight and the path that named it."""
    if "priorities" not in doc:
        return {name: (weight, "") for name, weight in DEFAULT_PRIORITIES.items()}
    found: dict[str, tuple[int, str]] = {}
    custom: dict[str, Doc] = {}
    for index, priority in enumerate(doc["priorities"]):
        path = f"priorities[{index}]"
        given = priority.get("name", "")
        weight = priority.get("weight", 0)
        if not 0 < weight < MAX_WEIGHT:
            conversion.refuse(f"{path}.weight", BAD_WEIGHT.format(name=given, weight=weight))
        if given == EQUAL_PRIORITY:
            continue
        name = _resolve(conversion, priority, path, "priority", PRIORITIES, _PRIORITY_ARGUMENTS)
        if name is None:
            continue
        _check_custom(conversion, custom, name, priority, path)
        argument = priority.get("argument", {})
        if "labelPreference" in argument:
            liked = argument["labelPreference"]
            side = "present" if liked.get("presence") else "absent"
            _add_labels(profile, f"{side}LabelsPreference", [liked.get("label", "")], path)
        if "requestedToCapacityRatioArguments" in argument:
            where = f"{path}.argument.requestedToCapacityRatioArguments"
            args = argument["requestedToCapacityRatioArguments"]
            profile.config.entries.append(PluginArgs(CAPACITY_RATIO, dict(args), where))
        found[name] = (weight, path)
    return found


def _resolve(
    conversion: Conversion,
    doc: Doc,
    path: str,
    what: str,
    known: Iterable[str],
    arguments: dict[str, str],
) -> str | None:
    """Return the registered name of a predicate or priority, or None if it has none."""
    given: str = doc.get("name", "")
    name = ALIASES.get(given, given)
    argument = doc.get("argument")
    if argument is not None and len(argument) != 1:
        text = ONE_ARGUMENT.format(what=what, count=len(argument))
        conversion.refuse(f"{path}.argument", text)
        return None
    plain = set(known) - set(arguments.values())
    if name in plain:
        if argument is not None:
            conversion.warn(f"{path}.argument", ARGUMENT_IGNORED.format(name=name))
        return name
    if argument is not None:
        return arguments[next(iter(argument))]
    text = PREDICATE_NOT_FOUND if what == "predicate" else PRIORITY_NOT_FOUND
    hint = CONDITION_HINT if name in CONDITIONS else suggest(name, sorted(plain))
    conversion.refuse(f"{path}.name", f"{text.format(name=name)}{hint}")
    return None


def _check_custom(
    conversion: Conversion, custom: dict[str, Doc], name: str, priority: Doc, path: str
) -> None:
    if name not in _PRIORITY_ARGUMENTS.values():
        return
    first = custom.setdefault(name, priority)
    if first is priority:
        return
    words = {"name": priority.get("name", ""), "first": first.get("name", "")}
    if name == CAPACITY_RATIO:
        conversion.refuse(path, REDECLARED.format(kind=name, **words))
    elif first.get("weight") != priority.get("weight"):
        kind = "LabelPreference" if name == removed.NODE_LABEL else "ServiceAntiAffinity"
        conversion.refuse(f"{path}.weight", OTHER_WEIGHT.format(kind=kind, **words))


def _add(profile: ConvertedProfile, point: str, entry: PluginEntry) -> None:
    """Add a plugin to a point if it is not there yet; the first weight wins."""
    plugin_set = profile.sets[point]
    if entry.name not in plugin_set.names():
        plugin_set.added.append(entry)


def _add_labels(profile: ConvertedProfile, field: str, labels: list[str], path: str) -> None:
    already = profile.config.fields(removed.NODE_LABEL).get(field, [])
    profile.config.put(removed.NODE_LABEL, field, [*already, *labels], path)


def _set_spreading(profile: ConvertedProfile, weights: dict[str, tuple[int, str]]) -> None:
    """Turn PodTopologySpread's default spreading off if only EvenPodsSpread was named."""
    if "EvenPodsSpreadPriority" in weights and "SelectorSpreadPriority" not in weights:
        origin = weights["EvenPodsSpreadPriority"][1]
        profile.config.put(SPREAD, "defaultingType", "List", origin)


def _complete(profile: ConvertedProfile) -> None:
    """Enable each plugin at the further points that its filter and its score need today."""
    for main, further in (
        ("filter", ("preFilter", "reserve", "preBind")),
        ("score", ("preScore",)),
    ):
        for entry in profile.sets[main].added:
            for point in further:
                if point in IN_TREE_POINTS.get(entry.name, ()):
                    _add(profile, point, PluginEntry(entry.name, None, entry.origin))
