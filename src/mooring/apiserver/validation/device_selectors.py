"""Device selectors: whether they compile, and what they can cost."""

# kubernetes: pkg/apis/resource/validation/validation.go, validateCELSelector

from __future__ import annotations

from functools import cache, lru_cache

from mooring.api.field_errors import FieldError, forbidden, internal_error, invalid, too_long
from mooring.cel.values import CompileError
from mooring.plugins.dynamic_resources.selectors import MAX_COST, MAX_LENGTH, DeviceEnvironment

TOO_COMPLEX = "too complex, exceeds cost limit"
_INTERNAL = "program instantiation failed"
_REMEMBERED = 256


def check_selector(expression: str, path: str) -> list[FieldError]:
    """Check the expression of a selector."""
    if len(expression.encode(errors="surrogatepass")) > MAX_LENGTH:
        return [too_long(path, MAX_LENGTH)]
    why = _fault(expression)
    if not why:
        return []
    if why == TOO_COMPLEX:
        return [forbidden(path, why)]
    if why.startswith(_INTERNAL):
        return [internal_error(path, why)]
    return [invalid(path, expression, why)]


@cache
def _environment() -> DeviceEnvironment:
    return DeviceEnvironment()


@lru_cache(maxsize=_REMEMBERED)
def _fault(source: str) -> str:
    """Return what is wrong with an expression, or an empty string."""
    environment = _environment()
    try:
        expression = environment.compile(source)
    except CompileError as error:
        return str(error)
    try:
        expression.program()
    except CompileError as error:
        # An expression that is not supported here may be supported by another scheduler.
        if str(error).startswith(_INTERNAL):
            return str(error)
    return TOO_COMPLEX if environment.max_cost(expression) > MAX_COST else ""
