"""The rules by which a scheduler decides, for programs that want to decide by the same."""

from __future__ import annotations

from typing import Any

import msgspec

from mooring.config import LoadResult
from mooring.framework.features import FeatureGates
from mooring.journal.head import make_head
from mooring.registry import Registry

#: Version of the format.
VERSION = 1
#: The modules of plugins that every Mooring has.
_OWN = "mooring."


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


def scheduler_rules(
    config: LoadResult, registry: Registry, features: FeatureGates
) -> SchedulerRules:
    """Return the rules of a scheduler with this configuration."""
    head = make_head(config, registry=registry, features=features, now=0.0)
    return SchedulerRules(
        mooring=head.mooring,
        release=head.release,
        min_compatibility=head.min_compatibility,
        gates=head.gates,
        config=head.config,
        plugins=tuple(
            RulePlugin(one.name, one.reference, one.sha256)
            for one in head.plugins
            if not one.reference.startswith(_OWN)
        ),
    )
