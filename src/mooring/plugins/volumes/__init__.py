"""The plugins for a pod's volumes."""

from __future__ import annotations

from mooring.plugins.volumes.node_volume_limits import NodeVolumeLimits
from mooring.plugins.volumes.volume_binding import VolumeBinding
from mooring.plugins.volumes.volume_restrictions import VolumeRestrictions
from mooring.plugins.volumes.volume_zone import VolumeZone

__all__ = ["NodeVolumeLimits", "VolumeBinding", "VolumeRestrictions", "VolumeZone"]
