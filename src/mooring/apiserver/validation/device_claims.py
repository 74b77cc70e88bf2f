"""Resource claims, their templates, and device classes."""

# kubernetes: pkg/apis/resource/validation/validation.go

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

from mooring.api.field_errors import (
    FieldError,
    duplicate,
    each,
    invalid,
    not_supported,
    required,
    too_long,
    too_many,
)
from mooring.apiserver.validation.device_derivations import ClaimDerivations, derivations_of
from mooring.apiserver.validation.device_selectors import check_selector, require_compiled
from mooring.apiserver.validation.field_problems import Object, immutable, repeated
from mooring.apiserver.validation.formats import (
    caseless_subdomain_problems,
    label_key_problems,
    label_problems,
    label_value_problems,
    subdomain_problems,
)
from mooring.apiserver.validation.volume_claims import check_template_metadata

T = TypeVar("T")

_MODES = ("All", "ExactCount")
_EFFECTS = ("NoExecute", "NoSchedule", "None")
_OPERATORS = ("Equal", "Exists")
_PARAMETERS_LENGTH = 10 * 1024
_DRIVER_LENGTH = 63
_IDENTIFIER_LENGTH = 32
_MOST = 32
_MOST_ALTERNATIVES = 8
_C_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
POSITIVE = "must be greater than zero"
NO_REQUEST = (
    "must be the name of a request in the claim or the name of a request and a subrequest "
    "separated by '/'"
)
C_IDENTIFIER = (
    "a valid C identifier must start with alphabetic character or '_', followed by a string of "
    "alphanumeric characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for "
    "validation is '[A-Za-z_][A-Za-z0-9_]*')"
)
FULLY_QUALIFIED = "a fully qualified name must be a domain and a name separated by a slash"
ONE_ATTRIBUTE = (
    'exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are '
    "set"
)


def check_claim(claim: Object) -> list[FieldError]:
    """Check a resource claim."""
    return _claim_spec(claim["spec"], "spec")


def check_claim_update(claim: Object, old: Object) -> list[FieldError]:
    """Check an update of a resource claim: its spec may not change."""
    return immutable("spec", claim["spec"], old["spec"], shown=False)


def check_template(template: Object) -> list[FieldError]:
    """Check a template of resource claims."""
    spec = template["spec"]
    problems = check_template_metadata(spec.get("metadata") or {}, "spec.metadata")
    return problems + _claim_spec(spec["spec"], "spec.spec")


def check_template_update(template: Object, old: Object) -> list[FieldError]:
    """Check an update of a template: its spec may not change."""
    return immutable("spec", template["spec"], old["spec"])


def _claim_spec(spec: Object, path: str) -> list[FieldError]:
    devices, where = spec.get("devices") or {}, f"{path}.devices"
    requests: Sequence[Object] = devices.get("requests") or ()
    names = {request["name"] for request in requests}
    names |= {
        f"{request['name']}/{one['name']}"
        for request in requests
        for one in request.get("firstAvailable") or ()
    }
    problems, requests = _bounded(requests, f"{where}.requests", _MOST)
    parts = [part for request in requests for part in _parts(request)]
    require_compiled(
        (expression for part in parts for expression in _expressions(part)),
        (one.get("expression") or "" for part in parts for one in derivations_of(part)),
    )
    derivations = ClaimDerivations(devices.get("constraints") or (), _full_name)
    seen: set[str] = set()
    for i, request in enumerate(requests):
        problems += _request(request, f"{where}.requests[{i}]", derivations)
        if request["name"] in seen:
            problems.append(duplicate(f"{where}.requests[{i}]", request))
        seen.add(request["name"])
    found, constraints = _bounded(devices.get("constraints") or (), f"{where}.constraints", _MOST)
    problems += found
    for i, constraint in enumerate(constraints):
        problems += _constraint(constraint, f"{where}.constraints[{i}]", names)
    found, configs = _bounded(devices.get("config") or (), f"{where}.config", _MOST)
    problems += found
    for i, config in enumerate(configs):
        at = f"{where}.config[{i}]"
        problems += _references(config.get("requests") or (), f"{at}.requests", names)
        problems += check_configuration(config, at)
    return problems + derivations.check_total(where)


def _bounded(items: Sequence[T], path: str, most: int) -> tuple[list[FieldError], Sequence[T]]:
    """Return the items that are checked: none if there are too many, and the problem then."""
    return ([too_many(path, len(items), most)], ()) if len(items) > most else ([], items)


def _parts(request: Object) -> Sequence[Object]:
    """Return the parts of a request that can have selectors, if it is well-formed."""
    exactly, first = request.get("exactly"), request.get("firstAvailable") or ()
    if exactly is not None:
        return () if first else (exactly,)
    return first if len(first) <= _MOST_ALTERNATIVES else ()


def _expressions(part: Object) -> Iterator[str]:
    """Yield the expressions that are checked."""
    selectors: Sequence[Object] = part.get("selectors") or ()
    if len(selectors) <= _MOST:
        for selector in selectors:
            yield (selector.get("cel") or {}).get("expression") or ""


def _request(request: Object, path: str, derivations: ClaimDerivations) -> list[FieldError]:
    problems = each(f"{path}.name", request["name"], label_problems(request["name"]))
    exactly, first = request.get("exactly"), request.get("firstAvailable")
    if exactly is None and not first:
        why = "exactly one of `exactly` or `firstAvailable` is required"
        return [*problems, required(path, why)]
    if exactly is not None and first:
        why = (
            "exactly one of `exactly` or `firstAvailable` is required, but multiple fields are set"
        )
        return [*problems, invalid(path, None, why)]
    if exactly is not None:
        problems += _exact(exactly, f"{path}.exactly")
        return problems + derivations.check(exactly, f"{path}.exactly", request["name"])
    found, alternatives = _bounded(first or (), f"{path}.firstAvailable", _MOST_ALTERNATIVES)
    problems += found
    seen: set[str] = set()
    for i, one in enumerate(alternatives):
        where, name = f"{path}.firstAvailable[{i}]", one.get("name") or ""
        problems += each(f"{where}.name", name, label_problems(name))
        problems += _exact(one, where)
        problems += derivations.check(one, where, f"{request['name']}/{name}")
        if name in seen:
            problems.append(duplicate(where, one))
        seen.add(name)
    return problems


def _exact(request: Object, path: str) -> list[FieldError]:
    problems: list[FieldError] = []
    name = request.get("deviceClassName", "")
    if not name:
        problems.append(required(f"{path}.deviceClassName"))
    else:
        problems += each(f"{path}.deviceClassName", name, subdomain_problems(name))
    mode, count = request.get("allocationMode"), request.get("count", 0)
    if mode not in _MODES:
        problems.append(not_supported(f"{path}.allocationMode", mode, _MODES))
    elif mode == "ExactCount" and count <= 0:
        problems.append(invalid(f"{path}.count", count, POSITIVE))
    elif mode == "All" and count:
        why = "must not be specified when allocationMode is 'All'"
        problems.append(invalid(f"{path}.count", count, why))
    for i, toleration in enumerate(request.get("tolerations") or ()):
        problems += _toleration(toleration, f"{path}.tolerations[{i}]")
    return problems + _selectors(request.get("selectors") or (), f"{path}.selectors")


def _toleration(toleration: Object, path: str) -> list[FieldError]:
    problems: list[FieldError] = []
    if key := toleration.get("key"):
        problems += each(f"{path}.key", key, label_key_problems(key))
    operator, value = toleration.get("operator") or "", toleration.get("value") or ""
    if operator == "Exists" and value:
        why = "must be empty for operator `Exists`"
        problems.append(invalid(f"{path}.value", value, why))
    elif operator == "Equal":
        problems += each(f"{path}.value", value, label_value_problems(value))
    elif not operator:
        problems.append(required(f"{path}.operator"))
    elif operator not in _OPERATORS:
        problems.append(not_supported(f"{path}.operator", operator, _OPERATORS))
    effect = toleration.get("effect")
    if effect and effect not in _EFFECTS:
        problems.append(not_supported(f"{path}.effect", effect, _EFFECTS))
    return problems


def check_taint(taint: Object, path: str) -> list[FieldError]:
    """Check the taint of a device."""
    key, effect = taint.get("key") or "", taint.get("effect") or ""
    problems = each(f"{path}.key", key, label_key_problems(key))
    if value := taint.get("value"):
        problems += each(f"{path}.value", value, label_value_problems(value))
    if not effect:
        problems.append(required(f"{path}.effect"))
    elif effect not in _EFFECTS:
        problems.append(not_supported(f"{path}.effect", effect, _EFFECTS))
    return problems


def _selectors(selectors: Sequence[Object], path: str) -> list[FieldError]:
    if len(selectors) > _MOST:
        return [too_many(path, len(selectors), _MOST)]
    problems: list[FieldError] = []
    for i, selector in enumerate(selectors):
        if (cel := selector.get("cel")) is None:
            problems.append(required(f"{path}[{i}].cel"))
        else:
            expression = cel.get("expression") or ""
            problems += check_selector(expression, f"{path}[{i}].cel.expression")
    return problems


def _constraint(constraint: Object, path: str, names: set[str]) -> list[FieldError]:
    problems = _references(constraint.get("requests") or (), f"{path}.requests", names)
    for field in ("matchAttribute", "distinctAttribute"):
        if (name := constraint.get(field)) is not None:
            return problems + _full_name(name, f"{path}.{field}")
    return [*problems, required(path, ONE_ATTRIBUTE)]


def _full_name(name: str, path: str) -> list[FieldError]:
    """Check the name of an attribute with its domain."""
    problems = qualified_name(name, path, declared=True)
    return problems if "/" in name else [*problems, invalid(path, name, FULLY_QUALIFIED)]


def _references(given: Sequence[str], path: str, names: set[str]) -> list[FieldError]:
    problems, given = _bounded(given, path, _MOST)
    again = set(repeated(given))
    for i, name in enumerate(given):
        where, parts = f"{path}[{i}]", name.split("/")
        if len(parts) > 2:
            problems.append(invalid(where, name, NO_REQUEST))
        for part in parts:
            problems += each(where, part, label_problems(part))
        if name not in names:
            problems.append(invalid(where, name, NO_REQUEST))
        if i in again:
            problems.append(duplicate(where, name))
    return problems


def check_configuration(config: Object, path: str) -> list[FieldError]:
    """Check the configuration that a driver gets for devices."""
    opaque, where = config.get("opaque"), f"{path}.opaque"
    if opaque is None:
        return [required(where)]
    problems = driver_name(opaque.get("driver") or "", f"{where}.driver", any_case=True)
    parameters: Any = opaque.get("parameters")
    at = f"{where}.parameters"
    if parameters is None:
        return [*problems, required(at)]
    if len(json.dumps(parameters, separators=(",", ":"))) > _PARAMETERS_LENGTH:
        problems.append(too_long(at, _PARAMETERS_LENGTH))
    elif not isinstance(parameters, dict):
        problems.append(invalid(at, "<value omitted>", "must be a valid JSON object"))
    return problems


def driver_name(name: str, path: str, *, any_case: bool = False) -> list[FieldError]:
    """Check the name of a driver."""
    if not name:
        return [required(path)]
    check = caseless_subdomain_problems if any_case else subdomain_problems
    problems = each(path, name, check(name))
    return [too_long(path, _DRIVER_LENGTH), *problems] if len(name) > _DRIVER_LENGTH else problems


def qualified_name(name: str, path: str, *, declared: bool = False) -> list[FieldError]:
    """Check the name of an attribute, with or without its domain.

    A rule that is `declared` at the type of the field, rather than written as code, has slightly
    different messages.
    """
    parts = name.split("/")
    if len(parts) > 2:
        return []
    problems: list[FieldError] = []
    if len(parts) == 2:
        if not parts[0]:
            why = "prefix must not be empty" if declared else "the domain must not be empty"
            problems.append(invalid(path, "", why))
        elif declared:
            if len(parts[0]) > _DRIVER_LENGTH:
                problems.append(too_long(path, _DRIVER_LENGTH))
            found = [f"prefix: {problem}" for problem in subdomain_problems(parts[0])]
            problems += each(path, parts[0], found)
        else:
            problems += driver_name(parts[0], path)
    own = parts[-1]
    if len(parts) == 2 and not own:
        why = "name must not be empty" if declared else "the name must not be empty"
        return [*problems, invalid(path, "", why)]
    if len(own) > _IDENTIFIER_LENGTH:
        problems.append(too_long(path, _IDENTIFIER_LENGTH))
    if _C_IDENTIFIER.fullmatch(own) is None:
        problems.append(invalid(path, own, C_IDENTIFIER))
    return problems


def check_device_class(device_class: Object) -> list[FieldError]:
    """Check a device class."""
    spec = device_class["spec"]
    require_compiled(_expressions(spec))
    problems = _selectors(spec.get("selectors") or (), "spec.selectors")
    found, configs = _bounded(spec.get("config") or (), "spec.config", _MOST)
    problems += found
    for i, config in enumerate(configs):
        problems += check_configuration(config, f"spec.config[{i}]")
    name = spec.get("extendedResourceName")
    if name is not None:
        problems += each("spec.extendedResourceName", name, _extended_resource_problems(name))
    return problems


def _extended_resource_problems(name: str) -> list[str]:
    """Return why a text is not the name of an extended resource; empty if it is."""
    # apimachinery: pkg/api/validate/strfmt.go (ExtendedResourceName)
    problems = []
    if "/" not in name:
        problems.append("a name must be a domain-prefixed path, such as 'example.com/my-prop'")
    elif "kubernetes.io/" in name:
        problems.append('must not have "kubernetes.io/" domain')
    if name.startswith("requests."):
        problems.append('must not have "requests." prefix')
    # The name of the resource's quota must be valid too.
    return [*problems, *label_key_problems(f"requests.{name}")]
