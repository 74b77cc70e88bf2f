"""Feature gates: every gate that the kube-scheduler binary knows, and the user's settings.

The gates of other components (kubelet, API server) are in the table too, because kube-scheduler
accepts them: one flag value is often shared by a whole control plane.
"""

# kube-scheduler: component-base featuregate/feature_gate.go, compatibility/registry.go

from __future__ import annotations

import functools
from collections.abc import Mapping

import msgspec

from mooring.api.field_errors import aggregate
from mooring.api.go_format import go_text
from mooring.api.go_numbers import parse_bool
from mooring.errors import ConfigError
from mooring.framework import feature_table, feature_table_1_36
from mooring.framework.feature_table import Row
from mooring.framework.releases import (
    DEFAULT_VERSION,
    NEWEST,
    V1_36,
    V1_37,
    EffectiveVersion,
    Release,
)

ALL_ALPHA = "AllAlpha"
ALL_BETA = "AllBeta"

_COMPONENT = "kube"
_MIXED_PREFIX = (
    "set kube feature gates with default empty prefix or kube: prefix consistently, do not mix use"
)


class Feature(msgspec.Struct, frozen=True):
    """One feature gate; its stage is ALPHA, BETA, GA or DEPRECATED.

    A gate that came with a later release than the emulated one is PRE-ALPHA: it is off.
    """

    name: str
    stage: str
    default: bool
    locked: bool
    depends_on: tuple[str, ...]


_PRE_ALPHA = "PRE-ALPHA"

#: The two tables of each release: the usual rows, and those that a minimum compatibility version
#: of the release itself replaces.
_TABLES: Mapping[Release, tuple[tuple[Row, ...], tuple[Row, ...]]] = {
    V1_36: (feature_table_1_36.ROWS, feature_table_1_36.COMPATIBLE_ROWS),
    V1_37: (feature_table.ROWS, feature_table.COMPATIBLE_ROWS),
}


@functools.cache
def features_of(version: EffectiveVersion = DEFAULT_VERSION) -> Mapping[str, Feature]:
    """Return the gates of a release by name."""
    rows, newest = _TABLES[version.release]
    later = () if version.release is NEWEST else _TABLES[NEWEST][0]
    return {
        **{row[0]: Feature(row[0], _PRE_ALPHA, False, False, ()) for row in later},
        **{row[0]: Feature(*row) for row in rows},
        **{row[0]: Feature(*row) for row in newest if version.is_newest_only},
        ALL_ALPHA: Feature(ALL_ALPHA, "ALPHA", False, False, ()),
        ALL_BETA: Feature(ALL_BETA, "BETA", False, False, ()),
    }


class FeatureGates:
    """The state of all feature gates. Immutable; gates that are not set have their default.

    >>> FeatureGates().enabled("GenericWorkload")
    False
    >>> FeatureGates.from_text("GenericWorkload=true").enabled("GenericWorkload")
    True
    """

    __slots__ = ("_enabled", "settings", "version", "warnings")

    settings: Mapping[str, bool]
    version: EffectiveVersion
    warnings: tuple[str, ...]

    def __init__(
        self,
        settings: Mapping[str, bool] | None = None,
        version: EffectiveVersion = DEFAULT_VERSION,
    ) -> None:
        self.settings = dict(settings or {})
        self.version = version
        self._enabled, self.warnings = _apply(self.settings, version)

    @property
    def release(self) -> Release:
        """The release of kube-scheduler that is emulated."""
        return self.version.release

    @property
    def features(self) -> Mapping[str, Feature]:
        """The gates that exist, by name."""
        return features_of(self.version)

    @classmethod
    def from_text(cls, text: str, version: EffectiveVersion = DEFAULT_VERSION) -> FeatureGates:
        """Parse `A=true,B=false`, the value of `--feature-gates`; `kube:A=true` is the same."""
        settings: dict[str, bool] = {}
        prefixes = set()
        for item in text.split(","):
            if not item:
                continue
            component, colon, pair = item.partition(":")
            if not colon:
                component, pair = "", item
            component = component.strip()
            if component not in ("", _COMPONENT):
                raise ConfigError(f"component not registered: {component}")
            prefixes.add(component)
            name, equals, value = pair.partition("=")
            name, value = name.strip(), value.strip()
            if not equals:
                raise ConfigError(f"missing bool value for {name}")
            try:
                settings[name] = parse_bool(value)
            except ValueError as error:
                raise ConfigError(f"invalid value of {name}={value}, err: {error}") from None
        if len(prefixes) > 1:
            raise ConfigError(_MIXED_PREFIX)
        return cls(settings, version)

    def enabled(self, name: str) -> bool:
        """Return whether the gate is on; raise KeyError if there is no such gate."""
        return self._enabled[name]

    def __repr__(self) -> str:
        return f"FeatureGates({dict(sorted(self.settings.items()))!r})"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, FeatureGates)
            and self._enabled == other._enabled
            and self.release is other.release
        )

    def __hash__(self) -> int:
        return hash((self.release.number, frozenset(self._enabled.items())))


def describe_features() -> list[str]:
    """Return the sorted lines that `--help` shows: GA and deprecated gates are not shown."""
    later = {row[0]: Feature(*row) for row in _TABLES[NEWEST][1]}
    return sorted(
        _describe(feature)
        + (
            f", or {_describe(later[feature.name])} if "
            f"--min-compatibility-version>={NEWEST.version}"
            if feature.name in later
            else ""
        )
        for feature in features_of().values()
        if feature.stage in ("ALPHA", "BETA")
    )


def _describe(feature: Feature) -> str:
    default = str(feature.default).lower()
    return f"{feature.name}=true|false ({feature.stage} - default={default})"


def _apply(
    settings: Mapping[str, bool], version: EffectiveVersion
) -> tuple[dict[str, bool], tuple[str, ...]]:
    features = features_of(version)
    unknown = [name for name in settings if name not in features]
    if unknown:
        raise ConfigError(f"unrecognized feature gate: {unknown[0]}")
    errors: list[str] = []
    warnings: list[str] = []
    for name, value in settings.items():
        feature = features[name]
        if feature.locked and feature.default != value:
            errors.append(
                f"cannot set feature gate {name} to {_go(value)}, "
                f"feature is locked to {_go(feature.default)}"
            )
        elif feature.stage == _PRE_ALPHA:
            errors.append(
                f"cannot set feature gate {name} to {_go(value)}, feature is PreAlpha at emulated "
                f"version {version.release.version}, min compatibility version "
                f"{version.min_compatibility_text}"
            )
        elif feature.stage in ("GA", "DEPRECATED"):
            stage = feature.stage if feature.stage == "GA" else feature.stage.lower()
            warnings.append(
                f"Warning: setting {stage} feature gate. It will be removed in a future release. "
                f"{name}={_go(value)}"
            )
    if errors:
        raise ConfigError(aggregate(errors))
    enabled = {feature.name: feature.default for feature in features.values()}
    for group, stage in ((ALL_ALPHA, "ALPHA"), (ALL_BETA, "BETA")):
        if group in settings:
            for feature in features.values():
                if feature.stage == stage and feature.name not in (ALL_ALPHA, ALL_BETA):
                    enabled[feature.name] = settings[group]
    enabled.update(settings)
    for name in sorted(enabled):
        disabled = [one for one in features[name].depends_on if not enabled[one]]
        if enabled[name] and disabled:
            errors.append(
                f"{name} is enabled, but depends on features that are disabled: {go_text(disabled)}"
            )
    if errors:
        raise ConfigError(aggregate(errors))
    return enabled, tuple(warnings)


def _go(value: bool) -> str:
    return "true" if value else "false"
