"""Checks of the derived attributes in a claim's requests: names, expressions and their cost."""

# kubernetes: pkg/apis/resource/validation/validation.go, validateDeviceDerivedAttribute;
# pkg/apis/resource/v1/zz_generated.validations.go

from __future__ import annotations

from collections.abc import Callable, Sequence

from mooring.api.field_errors import (
    FieldError,
    duplicate,
    forbidden,
    invalid,
    required,
    too_many,
)
from mooring.apiserver.validation.device_selectors import check_derived_attribute
from mooring.apiserver.validation.field_problems import Object
from mooring.plugins.dynamic_resources.selectors import MAX_COST

#: How many derived attributes a request may have.
MOST = 32
NOT_REFERENCED = (
    "must be referenced by at least one matchAttribute or distinctAttribute constraint targeting "
    "this request"
)
TOTAL_TOO_COMPLEX = (
    "too complex, total cost of derived attribute CEL expressions in the claim exceeds cost limit"
)


def derivations_of(part: Object) -> Sequence[Object]:
    """Return the derived attributes of a request or an alternative."""
    return part.get("derivedAttributes") or ()


class ClaimDerivations:
    """The check of a claim's derived attributes, which adds up their cost."""

    def __init__(
        self,
        constraints: Sequence[Object],
        check_name: Callable[[str, str], list[FieldError]],
    ) -> None:
        """Start the check of a claim; `check_name(name, path)` checks the name of an attribute."""
        self._check_name = check_name
        self._cost = 0
        #: The attributes that constraints compare, by request; "" for all requests.
        self._compared: dict[str, set[str]] = {}
        for constraint in constraints:
            name = constraint.get("matchAttribute")
            if name is None:
                name = constraint.get("distinctAttribute")
            if name is not None:
                for request in constraint.get("requests") or ("",):
                    self._compared.setdefault(request, set()).add(name)

    def check(self, part: Object, path: str, request: str) -> list[FieldError]:
        """Check the derived attributes of a request, named "request" or "request/alternative"."""
        given, where = derivations_of(part), f"{path}.derivedAttributes"
        problems: list[FieldError] = []
        seen: set[str] = set()
        for i, one in enumerate(given):
            name, expression = one.get("name") or "", one.get("expression") or ""
            if name and not self._is_compared(name, request):
                problems.append(invalid(f"{where}[{i}].name", name, NOT_REFERENCED))
            if expression:
                found, cost = check_derived_attribute(expression, f"{where}[{i}].expression")
                problems += found
                self._cost += cost
        for i, one in enumerate(given):
            name = one.get("name") or ""
            if name in seen:
                problems.append(duplicate(f"{where}[{i}]", name))
            seen.add(name)
        if len(given) > MOST:
            return [*problems, too_many(where, len(given), MOST)]
        for i, one in enumerate(given):
            if not one.get("name"):
                problems.append(required(f"{where}[{i}].name"))
            else:
                problems += self._check_name(one["name"], f"{where}[{i}].name")
            if not one.get("expression"):
                problems.append(required(f"{where}[{i}].expression"))
        return problems

    def _is_compared(self, name: str, request: str) -> bool:
        requests = ("", request, request.partition("/")[0])
        return any(name in self._compared.get(one, ()) for one in requests)

    def check_total(self, path: str) -> list[FieldError]:
        """Check the cost of all derived attributes of the claim together."""
        return [forbidden(path, TOTAL_TOO_COMPLEX)] if self._cost > MAX_COST else []
