"""The head of a segment: under which rules the scheduler decides."""

from __future__ import annotations

import hashlib
import inspect
import uuid
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from mooring.config import LoadResult, to_v1
from mooring.framework.features import FeatureGates
from mooring.framework.plugin import Plugin
from mooring.journal.entries import FORMAT, RecordedPlugin, SegmentHead
from mooring.queue.unschedulable_timeouts import DEFAULT_MAX_IN_UNSCHEDULABLE
from mooring.registry import Registry

#: Replaces a secret of the configuration.
_LEFT_OUT = "(left out)"
_SECRETS = frozenset({"token", "password", "keydata"})


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
        config=_without_secrets(to_v1(config.config)),
        gates=dict(features.settings),
        plugins=tuple(_plugins(registry, names)),
        max_in_unschedulable=max_in_unschedulable,
        their_config=None if theirs is None else _without_secrets(to_v1(theirs.config)),
    )


def _plugins(registry: Registry, names: Iterable[str]) -> Iterable[RecordedPlugin]:
    for name in names:
        plugin = registry.get(name)
        if plugin is not None:
            file = _file_of(plugin)
            reference = f"{plugin.__module__}:{plugin.__qualname__}"
            yield RecordedPlugin(name, reference, file, _sha256(file))


def _file_of(plugin: type[Plugin]) -> str:
    try:
        return inspect.getsourcefile(plugin) or ""
    except (TypeError, OSError):
        # It was defined in a prompt or by `exec`.
        return ""


def _sha256(file: str) -> str:
    try:
        return hashlib.sha256(Path(file).read_bytes()).hexdigest() if file else ""
    except OSError:
        return ""


def _without_secrets(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: _LEFT_OUT if key.lower() in _SECRETS and each else _without_secrets(each)
            for key, each in value.items()
        }
    if isinstance(value, list | tuple):
        return [_without_secrets(each) for each in value]
    return value
