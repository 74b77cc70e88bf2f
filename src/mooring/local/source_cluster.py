"""SourceCluster: copies the objects of an existing cluster. It only reads from that cluster."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import msgspec

from mooring.apiserver.resource_table import Served
from mooring.apiserver.schema.canonical import DecodeError
from mooring.apiserver.server_state import ServerState
from mooring.client.client import Client
from mooring.client.pages import read_pages
from mooring.errors import ApiError
from mooring.local import copying

Object = dict[str, Any]

#: The resources that scheduling depends on, and the workloads that create pods. Secrets are not
#: copied.
KINDS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("", ("namespaces", "nodes", "serviceaccounts", "limitranges", "resourcequotas")),
    ("scheduling.k8s.io", ("priorityclasses", "workloads", "compositepodgroups", "podgroups")),
    ("node.k8s.io", ("runtimeclasses",)),
    (
        "storage.k8s.io",
        (
            "storageclasses",
            "csidrivers",
            "csinodes",
            "csistoragecapacities",
            "volumeattachments",
            "volumeattributesclasses",
        ),
    ),
    ("", ("persistentvolumes", "persistentvolumeclaims", "services", "podtemplates")),
    (
        "resource.k8s.io",
        ("deviceclasses", "resourceslices", "resourceclaimtemplates", "resourceclaims"),
    ),
    ("policy", ("poddisruptionbudgets",)),
    ("networking.k8s.io", ("networkpolicies",)),
    ("apps", ("deployments", "replicasets", "statefulsets", "daemonsets", "controllerrevisions")),
    ("batch", ("cronjobs", "jobs")),
    ("", ("replicationcontrollers", "pods")),
    ("autoscaling", ("horizontalpodautoscalers",)),
)
_DEFINITIONS = ("apiextensions.k8s.io", "customresourcedefinitions")


class Copied(msgspec.Struct):
    """What was copied from another cluster."""

    #: How many objects of each resource.
    counts: Counter[str] = msgspec.field(default_factory=Counter)
    #: What was refused, and why.
    left_out: list[str] = msgspec.field(default_factory=list)


class SourceCluster:
    """A cluster that is read through a client."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def copy_into(self, cluster: ServerState) -> Copied:
        """Copy what matters to scheduling; raise ApiError if the cluster cannot be reached."""
        # This request needs no rights, so it fails only if the server cannot be reached.
        await self._client.request("GET", "/version")
        copied = Copied()
        await self._copy_custom(cluster, copied)
        for group, names in KINDS:
            for name in names:
                await self._copy(cluster, _versions(cluster, group, name), copied)
        copying.drop_lost_owners(cluster)
        return copied

    async def _copy_custom(self, cluster: ServerState, copied: Copied) -> None:
        await self._copy(cluster, _versions(cluster, *_DEFINITIONS), copied)
        for stored in list(cluster.store.items("/".join(_DEFINITIONS))):
            spec = stored.object["spec"]
            kept = (one["name"] for one in spec.get("versions") or () if one.get("storage"))
            names = spec.get("names") or {}
            served = cluster.catalogue.get(
                spec.get("group", ""), next(kept, ""), names.get("plural", "")
            )
            if served is not None:
                await self._copy(cluster, [served], copied)

    async def _copy(self, cluster: ServerState, versions: Iterable[Served], copied: Copied) -> None:
        """Copy a resource in the first of these versions that the source cluster serves."""
        for served in versions:
            root = f"/apis/{served.group_version}" if served.group else f"/api/{served.version}"
            path = f"{root}/{served.name}"
            try:
                async for obj in read_pages(self._client, path, dict[str, Any]):
                    try:
                        copied.counts[served.name] += copying.keep(cluster, served, obj)
                    except DecodeError as error:
                        copied.left_out.append(f"one of {served.name}: {error}")
                return
            except ApiError as error:
                if error.status == 0:
                    raise
                if not error.is_not_found:
                    copied.left_out.append(f"{served.name}: {error.message}")
                    return


def _versions(cluster: ServerState, group: str, name: str) -> list[Served]:
    catalogue = cluster.catalogue
    found = (catalogue.get(group, one, name) for one in catalogue.groups.get(group, ()))
    return [one for one in found if one is not None]
