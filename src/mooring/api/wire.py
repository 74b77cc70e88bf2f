"""Python names and JSON names of fields: the base class of every Kubernetes Struct.

Objects are immutable and hold no reference cycles, so the garbage collector does not track them
(`gc=False`): a cluster of 50,000 pods adds nothing to its work. Unknown fields are skipped;
absent fields take the zero value, as in Go. Maps are plain dicts for speed: never modify them.
"""

from __future__ import annotations

import msgspec

_INITIALISMS = {
    "api": "API",
    "cidr": "CIDR",
    "cidrs": "CIDRs",
    "fqdn": "FQDN",
    "id": "ID",
    "io": "IO",
    "ip": "IP",
    "ipc": "IPC",
    "ips": "IPs",
    "pid": "PID",
    "uri": "URI",
    "uuid": "UUID",
}


def wire_name(name: str) -> str:
    """Return the JSON name of a Python field name.

    >>> wire_name("node_selector_terms"), wire_name("pod_ips"), wire_name("provider_id")
    ('nodeSelectorTerms', 'podIPs', 'providerID')
    """
    first, *rest = name.split("_")
    return first + "".join(_INITIALISMS.get(part, part.capitalize()) for part in rest)


class Wire(
    msgspec.Struct, frozen=True, kw_only=True, rename=wire_name, omit_defaults=True, gc=False
):
    """An immutable part of a Kubernetes object."""
