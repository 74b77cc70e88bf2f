"""Flags: parses a command line as kube-scheduler does, with the same error messages.

Go's flags differ from argparse's: a boolean never takes the next word (`--leader-elect false` is an
error), underscores and dashes are equivalent, lists grow if a flag is repeated.
"""

# kube-scheduler: github.com/spf13/pflag flag.go; component-base cli/flag, cli/run.go

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from mooring.api.go_format import go_quote, go_quote_all
from mooring.app.flag_values import ValueKind
from mooring.errors import ConfigError

_HELP_COLUMN = 6
_MIN_WIDTH = 24


class Flag(msgspec.Struct, frozen=True):
    """One flag."""

    name: str
    kind: ValueKind
    default: Any
    help: str
    short: str = ""
    #: Returns what is wrong with a value, "" if nothing is.
    check: Callable[[Any], str] | None = None

    @property
    def spelling(self) -> str:
        """Return the flag as messages name it."""
        return f"-{self.short}, --{self.name}" if self.short else f"--{self.name}"


class FlagGroup(msgspec.Struct, frozen=True):
    """Flags that help shows together."""

    title: str
    flags: tuple[Flag, ...]


class FlagValues(Mapping[str, Any]):
    """The values of all flags by name, and which flags were given."""

    def __init__(self, groups: Sequence[FlagGroup], given: Mapping[str, Any]) -> None:
        self._flags = {flag.name: flag for group in groups for flag in group.flags}
        self._given = dict(given)

    def __getitem__(self, name: str) -> Any:
        return self._given[name] if name in self._given else self._flags[name].default

    def __iter__(self) -> Iterator[str]:
        return iter(self._flags)

    def __len__(self) -> int:
        return len(self._flags)

    def given(self, name: str) -> bool:
        """Return whether a flag was on the command line."""
        return name in self._given

    def mistakes(self) -> Iterator[str]:
        """Yield what the flags' own checks refuse."""
        for name, flag in self._flags.items():
            if flag.check is not None and (mistake := flag.check(self[name])):
                yield mistake

    def shown(self) -> dict[str, str]:
        """Return every value as text, sorted by name, for /flagz and the log."""
        return {
            name: flag.kind.show(self[name])
            for name, flag in sorted(self._flags.items(), key=lambda item: item[0])
        }


def parse_flags(groups: Sequence[FlagGroup], argv: Iterable[str], *, program: str) -> FlagValues:
    """Parse a command line; raise ConfigError with kube-scheduler's messages.

    `program` is named in the error about arguments that are not flags.
    """
    by_name = {flag.name: flag for group in groups for flag in group.flags}
    by_short = {flag.short: flag for flag in by_name.values() if flag.short}
    given: dict[str, Any] = {}
    rest: list[str] = []
    words = iter(argv)
    for word in words:
        if word == "--":
            rest += words
        elif word.startswith("--"):
            flag, text = _long(word, words, by_name)
            _set(flag, text, given)
        elif word.startswith("-") and word != "-":
            for flag, text in _shorts(word, words, by_short):
                _set(flag, text, given)
        else:
            rest.append(word)
    if any(rest):
        listed = go_quote_all(rest)
        raise ConfigError(f"{go_quote(program)} does not take any arguments, got {listed}")
    return FlagValues(groups, given)


def _long(word: str, words: Iterator[str], by_name: Mapping[str, Flag]) -> tuple[Flag, str]:
    name, equals, text = word[2:].partition("=")
    if not name or name[0] in "-=":
        raise ConfigError(f"bad flag syntax: {word}")
    flag = by_name.get(name.replace("_", "-"))
    if flag is None:
        raise ConfigError(f"unknown flag: --{name}")
    if equals:
        return flag, text
    if flag.kind.bare is not None:
        return flag, flag.kind.bare
    following = next(words, None)
    if following is None:
        raise ConfigError(f"flag needs an argument: {word}")
    return flag, following


def _shorts(
    word: str, words: Iterator[str], by_short: Mapping[str, Flag]
) -> Iterator[tuple[Flag, str]]:
    letters = word[1:]
    while letters:
        flag = by_short.get(letters[0])
        if flag is None:
            raise ConfigError(f"unknown shorthand flag: '{letters[0]}' in -{letters}")
        rest = letters[1:]
        if rest.startswith("="):
            yield flag, rest[1:]
            return
        if flag.kind.bare is not None:
            yield flag, flag.kind.bare
            letters = rest
            continue
        text = rest or next(words, None)
        if text is None:
            raise ConfigError(f"flag needs an argument: '{letters[0]}' in -{letters}")
        yield flag, text
        return


def _set(flag: Flag, text: str, given: dict[str, Any]) -> None:
    try:
        value = flag.kind.parse(text)
    except ValueError as error:
        raise ConfigError(
            f"invalid argument {go_quote(text)} for {go_quote(flag.spelling)} flag: {error}"
        ) from None
    if flag.kind.grows and flag.name in given:
        before = given[flag.name]
        value = {**before, **value} if isinstance(value, dict) else before + value
    given[flag.name] = value


def usage(groups: Sequence[FlagGroup], *, program: str, width: int) -> str:
    """Return the help text: every flag under the title of its group."""
    lines = [f"Usage:\n  {program} [flags]"]
    for group in groups:
        lines.append(f"\n{group.title} flags:\n")
        column = _HELP_COLUMN + 3 + max(len(_left(flag)) for flag in group.flags)
        for flag in sorted(group.flags, key=lambda flag: flag.name):
            lines += _described(flag, column, width)
    return "\n".join(lines) + "\n"


def _left(flag: Flag) -> str:
    return f"--{flag.name} {flag.kind.word}".rstrip()


def _described(flag: Flag, column: int, width: int) -> Iterator[str]:
    short = f"-{flag.short}, " if flag.short else ""
    start = f"{short:>{_HELP_COLUMN}}{_left(flag)}".ljust(column)
    default = _default(flag)
    text = f"{flag.help} (default {default})" if default else flag.help
    folded = []
    for paragraph in text.split("\n"):
        folded += textwrap.wrap(paragraph, max(width - column, _MIN_WIDTH)) or [""]
    for index, line in enumerate(folded):
        yield f"{start if index == 0 else ' ' * column}{line}"


def _default(flag: Flag) -> str:
    shown = flag.kind.show(flag.default)
    if shown in ("", "0", "0s", "false", "[]"):
        return ""
    return go_quote(shown) if flag.kind.word == "string" else shown
