"""The head of a segment: under which rules the scheduler decides."""

from __future__ import annotations

import hashlib
import inspect
import os
import uuid
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path

from mooring.config import LoadResult, to_v1
from mooring.config.secret_values import without_secrets
from mooring.explain.scheduler_rules import RecordedPlugin, RulePlugin, SchedulerRules
from mooring.framework.features import FeatureGates
from mooring.framework.plugin import Plugin
from mooring.journal.entries import FORMAT, SegmentHead
from mooring.queue.unschedulable_timeouts import DEFAULT_MAX_IN_UNSCHEDULABLE
from mooring.registry import Registry

#: The modules of plugins that every Mooring has.
_OWN = "mooring."


def make_head(
    config: LoadResult,
    *,
    registry: Registry,
    features: FeatureGates,
    now: float,
    max_in_unschedulable: float = DEFAULT_MAX_IN_UNSCHEDULABLE,
    theirs: LoadResult | None = None,
) -> SegmentHead:
    """Return the head of the segments of a new run; the writer sets number, time and `first`.

    `theirs` is the configuration that a shadow assumes the other scheduler has.
    """
    names = sorted({name for profile in config.profiles for name in profile.plugins})
    return SegmentHead(
        time=now,
        format=FORMAT,
        mooring=version("mooring"),
        run=uuid.uuid4().hex,
        number=0,
        first=True,
        release=features.release.version,
        min_compatibility=features.version.min_compatibility_text,
        config=without_secrets(to_v1(config.config)),
        gates=dict(features.settings),
        plugins=tuple(_plugins(registry, names)),
        max_in_unschedulable=max_in_unschedulable,
        their_config=None if theirs is None else without_secrets(to_v1(theirs.config)),
    )


def _plugins(registry: Registry, names: Iterable[str]) -> Iterable[RecordedPlugin]:
    for name in names:
        plugin = registry.get(name)
        if plugin is not None:
            yield describe_plugin(plugin)


def describe_plugin(plugin: type[Plugin]) -> RecordedPlugin:
    """Return a plugin class as a journal names it."""
    file = _file_of(plugin)
    reference = f"{plugin.__module__}:{plugin.__qualname__}"
    return RecordedPlugin(plugin.name, reference, file, _sha256(file))


def _file_of(plugin: type[Plugin]) -> str:
    try:
        file = inspect.getsourcefile(plugin)
        return os.path.abspath(file) if file else ""
    except (TypeError, OSError):
        # It was defined in a prompt or by `exec`.
        return ""


def _sha256(file: str) -> str:
    try:
        return hashlib.sha256(Path(file).read_bytes()).hexdigest() if file else ""
    except OSError:
        return ""


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
