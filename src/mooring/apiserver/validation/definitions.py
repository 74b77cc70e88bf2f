"""Custom resource definitions."""

# apiextensions-apiserver: pkg/apis/apiextensions/validation/validation.go

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from msgspec.structs import replace

from mooring.api.field_errors import FieldError, each, forbidden, invalid, not_supported, required
from mooring.api.go_format import go_quote
from mooring.apiserver.validation.custom_objects import check_value
from mooring.apiserver.validation.definition_parts import check_extensions, check_parts
from mooring.apiserver.validation.field_problems import Object, immutable
from mooring.apiserver.validation.formats import label_1035_problems, subdomain_problems
from mooring.apiserver.validation.rule_costs import check_rule_costs
from mooring.cel import patterns

_SCOPES = ("Cluster", "Namespaced")
_TYPES = ("array", "boolean", "integer", "number", "object", "string")
_REASONS = (
    "FieldValueDuplicate",
    "FieldValueForbidden",
    "FieldValueInvalid",
    "FieldValueRequired",
)
STILL_STORED = (
    "missing from spec.versions; {0} was previously a storage version, and must remain in "
    "spec.versions until a storage migration ensures no data remains persisted in {0} and removes "
    "{0} from status.storedVersions"
)
#: The annotation with the approval of an API in a group of the Kubernetes community.
APPROVED = "api-approved.kubernetes.io"
_PROPOSAL = "https://github.com/kubernetes/enhancements/pull/1111"
ONE_STORAGE = "must have exactly one version marked as storage version"
_MIXED_CASE = "may have mixed case, but should otherwise match: "


def check_definition(definition: Object) -> list[FieldError]:
    """Check a custom resource definition."""
    spec, problems = definition["spec"], []
    names = spec["names"]
    name, wanted = definition["metadata"].get("name", ""), f"{names['plural']}.{spec['group']}"
    if name != wanted:
        problems.append(invalid("metadata.name", name, 'must be spec.names.plural+"."+spec.group'))
    return problems + _spec(spec) + _stored_versions(definition) + _approval(definition, None)


def approval_state(definition: Object) -> tuple[str, str]:
    """Return the reason and message of the condition of a protected group's API approval.

    Both are "" for the definitions of other groups.
    """
    # apiextensions-apiserver: pkg/apihelpers/helpers.go, pkg/controller/apiapproval
    group = definition["spec"]["group"]
    if not f".{group}".endswith((".k8s.io", ".kubernetes.io")):
        return "", ""
    must = f"protected groups must have approval annotation {go_quote(APPROVED)}"
    value = (definition["metadata"].get("annotations") or {}).get(APPROVED) or ""
    if not value:
        return "MissingAnnotation", f"{must}, see {_PROPOSAL}"
    if value.startswith("unapproved"):
        return "UnapprovedAnnotation", f"not approved: {go_quote(value)}"
    try:
        url = urlsplit(value)
        is_url = bool(url.scheme and url.netloc)
    except ValueError:
        is_url = False
    if is_url:
        return "ApprovedAnnotation", f"approved in {value}"
    why = 'with either a URL or a reason starting with "unapproved"'
    return "InvalidAnnotation", f"{must} {why}, see {_PROPOSAL}"


def _approval(definition: Object, old: Object | None) -> list[FieldError]:
    """Return the problem of the annotation that protected groups need."""
    state, why = approval_state(definition)
    if old is not None and approval_state(old)[0] == state:
        return []
    where = f"metadata.annotations[{APPROVED}]"
    if state == "MissingAnnotation":
        return [required(where, why)]
    if state == "InvalidAnnotation":
        return [invalid(where, definition["metadata"]["annotations"][APPROVED], why)]
    return []


def _stored_versions(definition: Object) -> list[FieldError]:
    where = "status.storedVersions"
    stored = definition["status"].get("storedVersions") or []
    if not stored:
        return [invalid(where, None, "must have at least one stored version")]
    versions = definition["spec"].get("versions") or ()
    problems = [
        invalid(where, stored, f"must have the storage version {one['name']}")
        for one in versions
        if one.get("storage") and one["name"] not in stored
    ]
    known = {one["name"] for one in versions}
    return problems + [
        invalid(f"{where}[{i}]", name, STILL_STORED.format(name))
        for i, name in enumerate(stored)
        if name not in known
    ]


def _spec(
    spec: Object, nothing: list[Object] | None = None, before: Object | None = None
) -> list[FieldError]:
    problems: list[FieldError] = []
    group = spec["group"]
    if not group:
        problems.append(required("spec.group"))
    elif whys := subdomain_problems(group):
        problems += each("spec.group", group, whys)
    elif "." not in group:
        problems.append(invalid("spec.group", group, "should be a domain with at least one dot"))
    if not spec["scope"]:
        problems.append(required("spec.scope"))
    elif spec["scope"] not in _SCOPES:
        problems.append(not_supported("spec.scope", spec["scope"], _SCOPES))
    versions = spec.get("versions") or []
    stored = {one["name"]: one.get("schema") for one in (before or {}).get("versions") or ()}
    for i, version in enumerate(versions):
        unchanged = before is not None and stored.get(version["name"]) == version.get("schema")
        problems += _version(
            version, f"spec.versions[{i}]", single=len(versions) == 1, unchanged=unchanged
        )
    if len({version["name"] for version in versions}) != len(versions):
        why = "must contain unique version names"
        problems.append(invalid("spec.versions", versions, why))
    if sum(1 for version in versions if version.get("storage")) != 1:
        problems.append(invalid("spec.versions", versions or nothing, ONE_STORAGE))
    if versions and versions[0]["name"] and (whys := label_1035_problems(versions[0]["name"])):
        problems += each("spec.version", versions[0]["name"], whys)
    if spec.get("preserveUnknownFields"):
        why = (
            "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in "
            "spec.versions[*].schema instead"
        )
        problems.append(invalid("spec.preserveUnknownFields", True, why))
    return problems + _names(spec["names"], "spec.names") + _conversion(spec.get("conversion"))


def _conversion(conversion: Object | None) -> list[FieldError]:
    where, problems = "spec.conversion", []
    strategy = (conversion or {}).get("strategy")
    if conversion is None:
        return []
    given = conversion.get("webhook") or {}
    if strategy == "None":
        why = "should not be set when strategy is not set to Webhook"
        return [
            forbidden(f"{where}.{name}", why)
            for name, field in (
                ("webhookClientConfig", "clientConfig"),
                ("conversionReviewVersions", "conversionReviewVersions"),
            )
            if given.get(field) is not None
        ]
    if not strategy:
        return [required(f"{where}.strategy")]
    if strategy != "Webhook":
        return [not_supported(f"{where}.strategy", strategy, ("None", "Webhook"))]
    webhook = conversion.get("webhook") or {}
    if not webhook.get("clientConfig"):
        why = "required when strategy is set to Webhook"
        problems.append(required(f"{where}.webhookClientConfig", why))
    if not webhook.get("conversionReviewVersions"):
        problems.append(required(f"{where}.conversionReviewVersions"))
    return problems


def _version(version: Object, path: str, *, single: bool, unchanged: bool) -> list[FieldError]:
    name = version["name"]
    problems = each(f"{path}.name", name, label_1035_problems(name))
    schema = (version.get("schema") or {}).get("openAPIV3Schema")
    where = f"{path}.schema.openAPIV3Schema"
    if schema is None:
        problems.append(required(where))
    else:
        # If there is only one version, the API server reports its schema as the shared one.
        place = "spec.validation.openAPIV3Schema" if single else where
        if schema.get("type") != "object":
            why = "must be object at the root"
            given = schema.get("type", "")
            if given:
                problems.append(invalid(f"{place}.type", given, why))
            else:
                problems.append(required(f"{place}.type", "must not be empty at the root"))
        found = _schema(schema, place, root=True)
        # Defaults are checked only if the schema is structural.
        found = found or _defaults(schema, place)
        problems += found or check_rule_costs(schema, place, unchanged=unchanged)
        served_status = (version.get("subresources") or {}).get("status") is not None
        if served_status and schema.get("type") not in (None, "", "object"):
            why = (
                'only "object" is allowed as the type at the root of the schema if the status '
                "subresource is enabled"
            )
            problems.append(invalid(f"{place}.type", schema["type"], why))
    return problems + check_parts(version, path, "spec" if single else path)


def _schema(schema: Mapping[str, Any], path: str, *, root: bool = False) -> list[FieldError]:
    """Check that a schema is structural."""
    problems: list[FieldError] = []
    kind = schema.get("type", "")
    loose = schema.get("x-kubernetes-int-or-string") or schema.get(
        "x-kubernetes-preserve-unknown-fields"
    )
    if kind and kind not in _TYPES:
        problems.append(not_supported(f"{path}.type", kind, _TYPES))
    elif not kind and not loose and not root:
        why = "must not be empty for specified object fields"
        if path.endswith(".items"):
            why = "must not be empty for specified array items"
        problems.append(required(f"{path}.type", why))
    problems += _pattern(schema.get("pattern") or "", f"{path}.pattern")
    items = schema.get("items")
    if kind == "array" and items is None:
        problems.append(required(f"{path}.items", "must be specified"))
    if isinstance(items, Mapping):
        problems += _schema(items, f"{path}.items")
    problems += check_extensions(schema, path)
    keys = schema.get("x-kubernetes-list-map-keys")
    if schema.get("x-kubernetes-list-type") == "map" and not keys:
        where = f"{path}.x-kubernetes-list-map-keys"
        problems.append(required(where, "must not be empty if x-kubernetes-list-type is map"))
    for i, rule in enumerate(schema.get("x-kubernetes-validations") or ()):
        problems += _rule(rule, f"{path}.x-kubernetes-validations[{i}]")
    for name, inner in (schema.get("properties") or {}).items():
        if root and name == "metadata":
            continue
        problems += _schema(inner, f"{path}.properties[{name}]")
    additional = schema.get("additionalProperties")
    if isinstance(additional, Mapping):
        problems += _schema(additional, f"{path}.additionalProperties")
    return problems


def _pattern(pattern: str, path: str) -> list[FieldError]:
    try:
        patterns.compile(pattern)
    except patterns.PatternError as error:
        why = f"must be a valid regular expression, but isn't: {error}"
        return [invalid(path, pattern, why)]
    return []


def _defaults(schema: Mapping[str, Any], path: str) -> list[FieldError]:
    """Check that defaults match the schemas that they belong to."""
    problems: list[FieldError] = []
    if schema.get("default") is not None:
        problems += [
            replace(problem, path=f"{path}.default.{problem.path}".rstrip("."))
            for problem in check_value(schema, schema["default"], "")
        ]
    for name, inner in (schema.get("properties") or {}).items():
        problems += _defaults(inner, f"{path}.properties[{name}]")
    for name in ("items", "additionalProperties"):
        if isinstance(inner := schema.get(name), Mapping):
            problems += _defaults(inner, f"{path}.{name}")
    return problems


def _rule(rule: Object, path: str) -> list[FieldError]:
    """Check the fields of a rule; its CEL is checked later, if the schema is valid."""
    problems: list[FieldError] = []
    text, message = (rule.get("rule") or "").strip(), rule.get("message") or ""
    if not text:
        problems.append(required(f"{path}.rule", "rule is not specified"))
    elif message and not message.strip():
        problems.append(invalid(f"{path}.message", message, "must be non-empty if specified"))
    elif "\n" in message.strip():
        problems.append(invalid(f"{path}.message", message, "must not contain line breaks"))
    elif "\n" in text and not message.strip():
        why = "message must be specified if rule contains line breaks"
        problems.append(required(f"{path}.message", why))
    reason = rule.get("reason")
    if reason is not None and reason not in _REASONS:
        problems.append(not_supported(f"{path}.reason", reason, _REASONS))
    return problems


def _names(names: Object, path: str) -> list[FieldError]:
    problems: list[FieldError] = []
    for field in ("plural", "singular", "kind", "listKind"):
        name = names.get(field, "")
        mixed = field in ("kind", "listKind")
        if not name:
            problems.append(required(f"{path}.{field}"))
            continue
        prefix = _MIXED_CASE if mixed else ""
        whys = label_1035_problems(name.lower() if mixed else name)
        problems += each(f"{path}.{field}", name, (prefix + why for why in whys))
    for field in ("shortNames", "categories"):
        for i, name in enumerate(names.get(field) or ()):
            problems += each(f"{path}.{field}[{i}]", name, label_1035_problems(name))
    if names.get("kind") and names.get("kind") == names.get("listKind"):
        why = "kind and listKind may not be the same"
        problems.append(invalid(f"{path}.listKind", names["listKind"], why))
    return problems


def check_definition_update(definition: Object, old: Object) -> list[FieldError]:
    """Check an update of a definition.

    The group and the plural never change; scope and kind do not once it is established.
    """
    problems = _spec(definition["spec"], [], old["spec"]) + _stored_versions(definition)
    new, before = definition["spec"], old["spec"]
    conditions = old["status"].get("conditions") or ()
    established = any(
        one["type"] == "Established" and one["status"] == "True" for one in conditions
    )
    if established:
        problems += immutable("spec.scope", new["scope"], before["scope"])
        problems += immutable("spec.names.kind", new["names"]["kind"], before["names"]["kind"])
    problems += immutable("spec.group", new["group"], before["group"])
    problems += immutable("spec.names.plural", new["names"]["plural"], before["names"]["plural"])
    return problems + _approval(definition, old)
