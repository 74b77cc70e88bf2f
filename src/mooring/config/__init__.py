"""KubeSchedulerConfiguration: reading, defaulting, checking and printing it.

The names are loaded on first use: a plugin's test uses a resolved profile, and no file.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mooring.config.load import (
        LoadResult,
        default_config,
        load_config,
        load_config_data,
        load_config_text,
    )
    from mooring.config.printing import to_v1, to_yaml
    from mooring.config.resolved_profile import ResolvedProfile
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

_HOMES = {
    "KubeSchedulerConfiguration": "types",
    "ProfileConfig": "types",
    "ResolvedProfile": "resolved_profile",
    "to_v1": "printing",
    "to_yaml": "printing",
}


def __getattr__(name: str) -> Any:
    """Load the module of a public name."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES.get(name, 'load')}"), name)
