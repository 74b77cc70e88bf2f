"""The plugin that allocates and binds a pod's resource claims."""

from __future__ import annotations

from mooring.plugins.dynamic_resources.dynamic_resources import DynamicResources

__all__ = ["DynamicResources"]
