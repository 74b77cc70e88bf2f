"""Discovery of groups, versions and resources, aggregated and per group version."""

# apiserver: pkg/endpoints/discovery

from __future__ import annotations

from typing import Any

from mooring.apiserver.http import JSON, ApiRequest, ApiResponse, accepted, answer
from mooring.apiserver.resource_table import Catalogue, Served
from mooring.controlplane.type_table import ServedResource

Object = dict[str, Any]

AGGREGATED = "apidiscovery.k8s.io"
_VERSIONS = ("v2", "v2beta1")
_SCHEDULING = "scheduling.k8s.io"
#: The groups by priority. kube-apiserver: pkg/controlplane/apiserver/aggregator.go
_ORDER = (
    "apiregistration.k8s.io",
    "apps",
    "events.k8s.io",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "autoscaling",
    "batch",
    "certificates.k8s.io",
    "networking.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
    "storage.k8s.io",
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "scheduling.k8s.io",
    "coordination.k8s.io",
    "node.k8s.io",
    "discovery.k8s.io",
    "resource.k8s.io",
    "flowcontrol.apiserver.k8s.io",
)


def is_built_in(group: str) -> bool:
    """Return whether a group is Kubernetes' own, and not defined by custom resources."""
    return not group or group in _ORDER


def groups(catalogue: Catalogue) -> list[str]:
    """Return the names of the groups in the order of their priority, without the core group.

    kubectl takes a short name to be of the first group that has it. A custom group that defines
    pod groups comes before the built-in ones, because its users do not ask for those.
    """
    custom = sorted(set(catalogue.groups) - set(_ORDER) - {""})
    same = {
        served.group
        for served in catalogue
        if served.custom is not None and catalogue.preferred(_SCHEDULING, served.name) is not None
    }
    names = [*_ORDER, *(group for group in custom if group not in same)]
    at = names.index(_SCHEDULING)
    names[at:at] = [group for group in custom if group in same]
    return [group for group in names if group in catalogue.groups]


def serve(catalogue: Catalogue, request: ApiRequest, parts: list[str]) -> ApiResponse | None:
    """Return the response for a discovery path, or None if it does not exist."""
    if parts == ["api"]:
        return _aggregated(catalogue, request, [""]) or answer(_core_versions(request))
    if parts == ["apis"]:
        names = groups(catalogue)
        found = _aggregated(catalogue, request, names)
        return found or answer(
            {
                "kind": "APIGroupList",
                "apiVersion": "v1",
                "groups": [_group(catalogue, name) for name in names],
            }
        )
    if parts[0] == "apis" and len(parts) == 2 and parts[1] in catalogue.groups:
        return answer({"kind": "APIGroup", "apiVersion": "v1"} | _group(catalogue, parts[1]))
    if parts[0] == "apis" and len(parts) == 3 and catalogue.has(parts[1], parts[2]):
        return answer(_resources(catalogue, parts[1], parts[2]))
    if parts[0] == "api" and len(parts) == 2 and catalogue.has("", parts[1]):
        return answer(_resources(catalogue, "", parts[1]))
    return None


def _core_versions(request: ApiRequest) -> Object:
    address = {"clientCIDR": "0.0.0.0/0", "serverAddress": request.headers.get("host", "")}
    return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": [address]}


def _group(catalogue: Catalogue, group: str) -> Object:
    versions = [
        {"groupVersion": f"{group}/{version}", "version": version}
        for version in catalogue.groups[group]
    ]
    return {"name": group, "versions": versions, "preferredVersion": versions[0]}


def _resources(catalogue: Catalogue, group: str, version: str) -> Object:
    resources = []
    for served in sorted(catalogue.of(group, version), key=lambda one: one.name):
        resources.append(_legacy(served))
        resources += [
            _legacy_part(served, name, part) for name, part in served.subresources.items()
        ]
    group_version = f"{group}/{version}" if group else version
    result: Object = {"kind": "APIResourceList", "groupVersion": group_version}
    if group:
        result["apiVersion"] = "v1"
    return result | {"resources": resources}


def _legacy(served: Served) -> Object:
    result: Object = {
        "name": served.name,
        "singularName": served.singular,
        "namespaced": served.namespaced,
        "kind": served.kind,
        "verbs": served.verbs,
    }
    if served.short_names:
        result["shortNames"] = served.short_names
    if served.categories:
        result["categories"] = served.categories
    if served.hash:
        result["storageVersionHash"] = served.hash
    return result


def _legacy_part(served: Served, name: str, part: ServedResource) -> Object:
    result: Object = {
        "name": f"{served.name}/{name}",
        "singularName": "",
        "namespaced": served.namespaced,
    }
    if part.kind_group_version != served.group_version:
        group, _, version = part.kind_group_version.rpartition("/")
        result |= {"group": group, "version": version}
    return result | {"kind": part.kind, "verbs": part.verbs}


def _aggregated(catalogue: Catalogue, request: ApiRequest, names: list[str]) -> ApiResponse | None:
    for clause in accepted(request.headers.get("accept", "")):
        wanted = clause.parameters
        if (
            wanted.get("g") == AGGREGATED
            and wanted.get("as") == "APIGroupDiscoveryList"
            and wanted.get("v") in _VERSIONS
        ):
            version = wanted["v"]
            items = [_discovered(catalogue, name) for name in names]
            return answer(
                {
                    "kind": "APIGroupDiscoveryList",
                    "apiVersion": f"{AGGREGATED}/{version}",
                    "metadata": {},
                    "items": items,
                },
                content_type=f"{JSON};g={AGGREGATED};v={version};as=APIGroupDiscoveryList",
            )
        if clause.type == JSON and not wanted.get("as"):
            return None
    return None


def _discovered(catalogue: Catalogue, group: str) -> Object:
    return {
        "metadata": {"name": group} if group else {},
        "versions": [
            {
                "version": version,
                "resources": [
                    _resource(served)
                    for served in sorted(catalogue.of(group, version), key=lambda one: one.name)
                ],
                "freshness": "Current",
            }
            for version in catalogue.groups.get(group, ())
        ],
    }


def _kind(group_version: str, kind: str) -> Object:
    group, _, version = group_version.rpartition("/")
    return {"group": group, "version": version, "kind": kind}


def _resource(served: Served) -> Object:
    result: Object = {
        "resource": served.name,
        "responseKind": _kind(served.group_version, served.kind),
        "scope": "Namespaced" if served.namespaced else "Cluster",
        "singularResource": served.singular,
        "verbs": served.verbs,
    }
    if served.short_names:
        result["shortNames"] = served.short_names
    if served.categories:
        result["categories"] = served.categories
    if served.subresources:
        result["subresources"] = [
            {
                "subresource": name,
                "responseKind": _kind(part.kind_group_version, part.kind),
                "verbs": part.verbs,
            }
            for name, part in sorted(served.subresources.items())
        ]
    return result
