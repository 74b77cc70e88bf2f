"""KubeSchedulerConfiguration: reading, defaulting, checking and printing it."""

from __future__ import annotations

from mooring.config.load import (
    LoadResult,
    default_config,
    load_config,
    load_config_data,
    load_config_text,
)
from mooring.config.printing import to_v1, to_yaml
from mooring.config.profiles import ResolvedProfile
from mooring.config.types import KubeSchedulerConfiguration, ProfileConfig

__all__ = [
    "KubeSchedulerConfiguration",
    "LoadResult",
    "ProfileConfig",
    "ResolvedProfile",
    "default_config",
    "load_config",
    "load_config_data",
    "load_config_text",
    "to_v1",
    "to_yaml",
]
