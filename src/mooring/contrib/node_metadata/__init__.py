"""NodeMetadata: prefer nodes by a number or a time in a label or annotation."""

from mooring.contrib.node_metadata.plugin import NodeMetadata

__all__ = ["NodeMetadata"]
