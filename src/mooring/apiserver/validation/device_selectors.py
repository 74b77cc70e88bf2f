"""Device selectors and derived attributes: whether they compile, and what they can cost.

A claim can have hundreds of selectors of 10 KiB each, and compiling one of them can take 0.2 s. A
request must not hold up the others for so long, so long selectors are compiled before the object is
checked, one at a time; the check then finds the results.
"""

# kubernetes: pkg/apis/resource/validation/validation.go, validateCELExpression

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from functools import cache

from mooring.api.field_errors import FieldError, forbidden, internal_error, invalid, too_long
from mooring.cel.values import CompileError
from mooring.plugins.dynamic_resources.selectors import MAX_COST, MAX_LENGTH, DeviceEnvironment

#: An expression, and whether it defines a derived attribute (otherwise it is a selector).
_Source = tuple[str, bool]

TOO_COMPLEX = "too complex, exceeds cost limit"
_INTERNAL = "program instantiation failed"
#: Selectors of this many characters together are compiled by the check itself.
_SHORT = 16 * 1024
#: A selector with a regular expression, which may have a large program, counts as one this long.
_PATTERNED = 6 * 1024
#: How many characters of selectors and of their errors are remembered: more than a request has.
_REMEMBERED = 16 << 20


class UncompiledSelectors(Exception):
    """Long selectors of an object that must be compiled before the object can be checked."""

    def __init__(self, expressions: tuple[_Source, ...]) -> None:
        super().__init__(f"{len(expressions)} selectors are not compiled yet")
        self.expressions = expressions

    async def compile(self, turn: asyncio.Lock) -> None:
        """Compile the selectors and remember the results; yield to other requests after each.

        Only the holder of `turn` compiles, so others wait for one selector at most. They get as
        much time as it took, because a request needs several turns of the loop.
        """
        loop = asyncio.get_running_loop()
        for expression in self.expressions:
            async with turn:
                start = loop.time()
                _faults().of(expression)
                await asyncio.sleep(loop.time() - start)


def require_compiled(selectors: Iterable[str], derived: Iterable[str] = ()) -> None:
    """Raise UncompiledSelectors if compiling an object's expressions would take long."""
    faults = _faults()
    sources = [*((text, False) for text in selectors), *((text, True) for text in derived)]
    missing = tuple(
        dict.fromkeys(
            each for each in sources if not _is_too_long(each[0]) and not faults.knows(each)
        )
    )
    if sum(_length(text) for text, _ in missing) > _SHORT:
        raise UncompiledSelectors(missing)


def _length(text: str) -> int:
    patterned = "matches" in text or "find" in text
    return max(len(text), _PATTERNED) if patterned else len(text)


def check_selector(expression: str, path: str) -> list[FieldError]:
    """Check the expression of a selector."""
    return _check((expression, False), path)[0]


def check_derived_attribute(expression: str, path: str) -> tuple[list[FieldError], int]:
    """Check the expression of a derived attribute; return problems and the highest cost."""
    return _check((expression, True), path)


def _check(source: _Source, path: str) -> tuple[list[FieldError], int]:
    expression, _ = source
    if _is_too_long(expression):
        return [too_long(path, MAX_LENGTH)], 0
    why, cost = _faults().of(source)
    return _problems(expression, path, why), cost


def _problems(expression: str, path: str, why: str) -> list[FieldError]:
    if not why:
        return []
    if why == TOO_COMPLEX:
        return [forbidden(path, why)]
    if why.startswith(_INTERNAL):
        return [internal_error(path, why)]
    return [invalid(path, expression, why)]


def _is_too_long(expression: str) -> bool:
    return len(expression.encode(errors="surrogatepass")) > MAX_LENGTH


class _Faults:
    """A cache of what is wrong with recently checked expressions, and of their highest cost."""

    def __init__(self) -> None:
        self._environment = DeviceEnvironment()
        self._found: dict[_Source, tuple[str, int]] = {}
        self._characters = 0

    def knows(self, source: _Source) -> bool:
        return source in self._found

    def of(self, source: _Source) -> tuple[str, int]:
        """Return what is wrong with an expression ("" if nothing is), and its highest cost."""
        found = self._found.get(source)
        if found is None:
            found = self._found[source] = self._compile(*source)
            self._characters += len(source[0]) + len(found[0])
            while self._characters > _REMEMBERED:
                oldest = next(iter(self._found))
                self._characters -= len(oldest[0]) + len(self._found.pop(oldest)[0])
        return found

    def _compile(self, source: str, derived: bool) -> tuple[str, int]:
        try:
            if derived:
                expression = self._environment.compile_derived(source, lists=False)
            else:
                expression = self._environment.compile(source)
        except CompileError as error:
            return str(error), 0
        try:
            expression.program()
        except CompileError as error:
            # An expression that is not supported here may be supported by another scheduler.
            if str(error).startswith(_INTERNAL):
                return str(error), 0
        cost = self._environment.max_cost(expression)
        return (TOO_COMPLEX if cost > MAX_COST else ""), cost


@cache
def _faults() -> _Faults:
    return _Faults()
