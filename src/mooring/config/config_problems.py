"""Collect the errors and warnings of a configuration, with their positions in the file."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from mooring.api.field_errors import FieldError
from mooring.config.decode import UnknownField
from mooring.config.positions import Mark, Positions
from mooring.errors import ConfigError, ConfigErrors


class Problems:
    """The errors and warnings of one file. Owned by the load that created it."""

    def __init__(self, file: str, positions: Positions) -> None:
        self.file = file
        self._positions = positions
        self._errors: list[ConfigError] = []
        self._paths: set[str] = set()
        self._warnings: list[str] = []
        #: Maps a path of the v1 form to the path in the file as it is written.
        self.origin: Callable[[str], str] = str

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return the warnings, each with its position."""
        return tuple(self._warnings)

    def add(self, errors: Iterable[FieldError]) -> None:
        """Add the errors of one step, except those that follow from an earlier error."""
        fresh = [error for error in errors if not self._is_explained(error.path)]
        for error in fresh:
            path = self.origin(error.path)
            mark = self._positions.find(path, key=isinstance(error, UnknownField))
            self._append(msgspec.structs.replace(error, path=path), mark)
        self._paths.update(error.path for error in fresh)

    def add_original(self, errors: Iterable[FieldError]) -> None:
        """Add errors whose paths are those of the file as it is written."""
        for error in errors:
            self._append(error, self._positions.find(error.path))

    def add_marked(self, errors: Iterable[tuple[FieldError, Mark | None]]) -> None:
        """Add errors whose positions are known."""
        for error, mark in errors:
            self._append(error, mark)

    def warn(self, path: str, text: str) -> None:
        """Add a warning."""
        path = self.origin(path)
        mark = self._positions.find(path) if path else None
        warning = str(self._error(FieldError(path, text), mark))
        if warning not in self._warnings:
            self._warnings.append(warning)

    def raise_if_any(self) -> None:
        """Raise ConfigErrors, in the order of the file, if there are errors."""
        if self._errors:
            raise ConfigErrors(
                sorted(self._errors, key=lambda error: (error.line or 0, error.column or 0))
            )

    def _append(self, error: FieldError, mark: Mark | None) -> None:
        new = self._error(error, mark)
        if str(new) not in map(str, self._errors):
            self._errors.append(new)

    def _error(self, error: FieldError, mark: Mark | None) -> ConfigError:
        return ConfigError(
            error.message,
            path=error.path or None,
            file=self.file,
            line=None if mark is None else mark.line,
            column=None if mark is None else mark.column,
            advice=error.advice,
        )

    def _is_explained(self, path: str) -> bool:
        return any(_around(path, known) or _around(known, path) for known in self._paths)


def _around(outer: str, inner: str) -> bool:
    return inner == outer or (inner.startswith(outer) and inner[len(outer)] in ".[")
