"""The result of a conversion to v1, and the object that collects its warnings and errors."""

from __future__ import annotations

from typing import Any

import msgspec
import yaml

from mooring.api.field_errors import FieldError
from mooring.config.positions import parent
from mooring.framework.releases import NEWEST, Release

Doc = dict[str, Any]


class Converted(msgspec.Struct):
    """The v1 form of an older document.

    `doc_v1` is what a user would write: it adds only the defaults that keep the meaning. It is
    empty if there are `errors`, whose paths are those of the original document.
    """

    doc_v1: Doc
    warnings: list[str]
    errors: list[FieldError]
    #: v1 path -> original path, for what moved; everything below a moved key moved with it.
    origins: dict[str, str]

    def origin(self, path: str) -> str:
        """Return the path in the original document of the value at a v1 path.

        >>> moved = Converted({}, [], [], {"profiles[0]": "", "profiles[0].plugins.reserve": ""})
        >>> moved.origin("profiles[0].pluginConfig[1].name"), moved.origin("parallelism")
        ('pluginConfig[1].name', 'parallelism')
        """
        around = path
        while around and around not in self.origins:
            around = parent(around)
        below = path[len(around) :]
        return (self.origins.get(around, around) + below).lstrip(".")


class Conversion:
    """The warnings, errors and origins of one conversion. Owned by the call that created it."""

    def __init__(self, release: Release = NEWEST) -> None:
        #: The release whose v1 form is wanted: its default plugins and their order.
        self.release = release
        self.warnings: list[str] = []
        self.errors: list[FieldError] = []
        self.origins: dict[str, str] = {}

    def warn(self, path: str, text: str) -> None:
        """Add a warning: something has less effect, or another one, than it had."""
        line = f"{path}: {text}" if path else text
        if line not in self.warnings:
            self.warnings.append(line)

    def refuse(self, path: str, text: str) -> None:
        """Add an error: something cannot be converted; the text names what to use instead."""
        error = FieldError(path, text)
        if error not in self.errors:
            self.errors.append(error)

    def finish(self, doc: Doc, deprecation: str) -> Converted:
        """Return the result; its first warning gives the deprecation and the v1 form."""
        warnings = list(self.warnings)
        if not self.errors:
            warnings.insert(0, f"{deprecation}; its v1 form is:\n\n{to_yaml(doc)}")
        return Converted({} if self.errors else doc, warnings, self.errors, self.origins)


def to_yaml(doc: Doc) -> str:
    """Print a document as YAML, keys in the order given."""
    text: str = yaml.dump(doc, Dumper=_Dumper, sort_keys=False, default_flow_style=False)
    return text


class _Dumper(yaml.SafeDumper):
    """A dumper without anchors: a list that occurs in two places is written twice."""

    def ignore_aliases(self, data: Any) -> bool:
        return True
