"""NodeResourceTopologyMatch: place pods where the kubelet can give them all from one NUMA cell."""

from mooring.contrib.node_resource_topology.plugin import NodeResourceTopologyMatch

__all__ = ["NodeResourceTopologyMatch"]
