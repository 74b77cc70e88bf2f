"""Convert the fields of a document that do not belong to a profile."""

from __future__ import annotations

from typing import Any

from mooring.config.convert.converted import Conversion, Doc
from mooring.config.defaults import API_VERSION, KIND, RESOURCE_LOCK

BIND_ADDRESS_GONE = (
    "has no place in v1 and is left out: health and metrics are served over HTTPS, at the address "
    "and port of --bind-address and --secure-port"
)
LOCK_GONE = (
    'the lock "{lock}" no longer exists, "leases" takes its place: before the switch, stop every '
    "scheduler that still holds the old lock"
)
LOCKS_DIFFER = "{new} and {old} are both set and do not match, {new}: {value}, {old}: {found}"

#: Fields that mean the same in every version, in the order in which v1 prints them.
_SAME = (
    "parallelism",
    "leaderElection",
    "clientConnection",
    "enableProfiling",
    "enableContentionProfiling",
    "percentageOfNodesToScore",
    "podInitialBackoffSeconds",
    "podMaxBackoffSeconds",
)


def start_document(conversion: Conversion, doc: Doc) -> Doc:
    """Return a v1 document with the settings that do not belong to a profile."""
    written: Doc = {"apiVersion": API_VERSION, "kind": KIND}
    for field in _SAME:
        if field in doc:
            written[field] = doc[field]
    if "leaderElection" in written:
        written["leaderElection"] = _leader_election(conversion, doc["leaderElection"])
    for field in ("healthzBindAddress", "metricsBindAddress"):
        if _serves(doc.get(field)):
            conversion.warn(field, BIND_ADDRESS_GONE)
    return written


def _serves(address: Any) -> bool:
    """Return whether an address starts a server: an empty address or port 0 switches it off."""
    return bool(address) and address != "0" and not address.endswith(":0")


def _leader_election(conversion: Conversion, doc: Doc) -> Doc:
    written = dict(doc)
    # kube-scheduler 1.18: apis/config/v1alpha1/conversion.go
    for old, new in (
        ("lockObjectNamespace", "resourceNamespace"),
        ("lockObjectName", "resourceName"),
    ):
        value = written.pop(old, "")
        if not value:
            continue
        found = written.get(new)
        if found and found != value:
            text = LOCKS_DIFFER.format(
                new=new[0].upper() + new[1:],
                old=old[0].upper() + old[1:],
                value=found,
                found=value,
            )
            conversion.refuse(f"leaderElection.{old}", text)
        elif not found:
            written[new] = value
            conversion.origins[f"leaderElection.{new}"] = f"leaderElection.{old}"
    lock = written.get("resourceLock")
    if lock and lock != RESOURCE_LOCK:
        conversion.warn("leaderElection.resourceLock", LOCK_GONE.format(lock=lock))
        written["resourceLock"] = RESOURCE_LOCK
    return written
