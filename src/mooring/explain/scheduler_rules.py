"""The rules by which a scheduler decides, for programs that want to decide by the same."""

from __future__ import annotations

from typing import Any

import msgspec

#: Version of the format.
VERSION = 1


class RecordedPlugin(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A plugin class that ran, and where its code came from."""

    name: str
    #: "module:Class".
    reference: str
    #: The file of the module; "" if it has none.
    file: str
    #: SHA-256 of the file's content, in hexadecimal digits; "" if it could not be read.
    sha256: str


class RulePlugin(msgspec.Struct, frozen=True):
    """A plugin that does not come with Mooring."""

    name: str
    #: "module:Class".
    reference: str
    #: The SHA-256 of its file; empty if there is none.
    sha256: str = ""


class SchedulerRules(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The configuration, gates and plugins of a scheduler. They name plugins and hold no code."""

    version: int = VERSION
    #: The version of Mooring.
    mooring: str
    #: The release of Kubernetes that is emulated, such as "1.37".
    release: str
    #: The oldest release that it must be compatible with.
    min_compatibility: str = ""
    #: The feature gates that were set; the others have their defaults.
    gates: dict[str, bool]
    #: The effective configuration (`config.to_v1`), without keys and tokens.
    config: Any
    plugins: tuple[RulePlugin, ...] = ()
