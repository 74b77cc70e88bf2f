"""Warnings about objects that the API server accepts."""

# kubernetes: pkg/api/{pod,service,persistentvolume,node,job}/warnings.go and util.go,
# pkg/registry/*/strategy.go (WarningsOnCreate, WarningsOnUpdate)

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from mooring.api.field_errors import show
from mooring.api.go_format import go_struct, go_text
from mooring.api.quantity import milli_value
from mooring.apiserver.validation.field_problems import Object
from mooring.apiserver.validation.formats import label_problems, label_value_problems
from mooring.apiserver.warning_texts import cut

_EXTERNAL_ID = "spec.externalID: this field is deprecated, and is unused by Kubernetes"
_NEGATIVE_HISTORY = (
    "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 "
    "is recommended"
)
_FILES = (
    ("configMap", "ConfigMap", "name"),
    ("secret", "Secret", "secretName"),
    ("downwardAPI", "DownwardAPI", ""),
)
_LABELS = {
    "beta.kubernetes.io/arch": 'deprecated since v1.14; use "kubernetes.io/arch" instead',
    "beta.kubernetes.io/os": 'deprecated since v1.14; use "kubernetes.io/os" instead',
    "failure-domain.beta.kubernetes.io/region": (
        'deprecated since v1.17; use "topology.kubernetes.io/region" instead'
    ),
    "failure-domain.beta.kubernetes.io/zone": (
        'deprecated since v1.17; use "topology.kubernetes.io/zone" instead'
    ),
    "beta.kubernetes.io/instance-type": (
        'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead'
    ),
    "app.kubernetes.io/created-by": "deprecated since v1.9",
    "scheduler.alpha.kubernetes.io/preferAvoidPods": (
        "deprecated since v1.22; use Taints and Tolerations instead"
    ),
    "node-role.kubernetes.io/master": 'use "node-role.kubernetes.io/control-plane" instead',
}
_ANNOTATIONS = {
    "scheduler.alpha.kubernetes.io/critical-pod": (
        'non-functional in v1.16+; use the "priorityClassName" field instead'
    ),
    "security.alpha.kubernetes.io/sysctls": (
        'non-functional in v1.11+; use the "sysctls" field instead'
    ),
    "security.alpha.kubernetes.io/unsafe-sysctls": (
        'non-functional in v1.11+; use the "sysctls" field instead'
    ),
}
_VOLUMES = {
    "photonPersistentDisk": "deprecated in v1.11, non-functional in v1.16+",
    "gitRepo": "deprecated in v1.11, and disabled by default in v1.33+",
    "scaleIO": "deprecated in v1.16, non-functional in v1.22+",
    "flocker": "deprecated in v1.22, non-functional in v1.25+",
    "storageos": "deprecated in v1.22, non-functional in v1.25+",
    "quobyte": "deprecated in v1.22, non-functional in v1.25+",
    "glusterfs": "deprecated in v1.25, non-functional in v1.26+",
    "cephfs": "deprecated in v1.28, non-functional in v1.31+",
    "rbd": "deprecated in v1.28, non-functional in v1.31+",
}
_KINDS = {
    ("v1", "ComponentStatus"): "v1 ComponentStatus is deprecated in v1.19+",
    ("v1", "Endpoints"): (
        "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"
    ),
}
_NO_SELECTOR = "a null labelSelector results in matching no pod"
_POD_NAME = "this is used in the Pod's hostname"
_WORKLOAD_NAME = "this is used in Pod names and hostnames"
_SURPRISE = "which can result in surprising behavior; a DNS label is recommended"
_RECYCLE = (
    "The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic "
    "provisioning."
)
_TOKENS = (
    "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to "
    "prevent possible logging of tokens in volume attributes"
)
_SET_OF_OBJECTS = (
    'x-kubernetes-list-type: set for items of type "{}" is not supported by server-side apply or '
    "CEL validation rules"
)
_DOMAIN = (
    "prefer a domain-qualified finalizer name{} to avoid accidental conflicts with other finalizer "
    "writers"
)
_PATH = " including a path (/)"
_STANDARD_FINALIZERS = ("kubernetes", "orphan", "foregroundDeletion")
#: The path of a file in a volume, and the source that provides it.
_File = tuple[str, str]
_WORKLOADS = ("Deployment", "ReplicaSet", "ReplicationController", "Job", "CronJob")


def kind_warning(group_version: str, kind: str) -> str | None:
    """Return the warning for every request for a deprecated kind, or None."""
    return _KINDS.get((group_version, kind))


def warnings(group_version: str, kind: str, obj: Object, old: Object | None = None) -> list[str]:
    """Return the warnings about a valid object that is created, or updated from an old one.

    Warnings beyond what the response can carry are not computed.
    """
    found = [] if old is not None else list(_name(kind, obj["metadata"].get("name", "")))
    if (group_version, kind) == ("v1", "Pod"):
        # The warnings about an existing pod were sent when it was created.
        return found + ([] if old is not None else cut(_pod(obj, "")))
    if (group_version, kind) == ("v1", "Service"):
        return found + list(_service(obj["spec"]))
    if (group_version, kind) == ("v1", "Node"):
        return found + ([_EXTERNAL_ID] if obj["spec"].get("externalID") else [])
    if (group_version, kind) == ("apps/v1", "StatefulSet"):
        limit = obj["spec"].get("revisionHistoryLimit")
        found += [_NEGATIVE_HISTORY] if limit is not None and limit < 0 else []
    if (group_version, kind) == ("v1", "PersistentVolume"):
        return found + list(_volume(obj["spec"]))
    if (group_version, kind) == ("v1", "PersistentVolumeClaim"):
        return found + list(_claim(obj["spec"], "spec"))
    if (group_version, kind) == ("discovery.k8s.io/v1", "EndpointSlice"):
        deprecated = obj.get("addressType") == "FQDN"
        return found + (["spec.addressType: FQDN endpoints are deprecated"] if deprecated else [])
    if (group_version, kind) == ("storage.k8s.io/v1", "CSIDriver"):
        asked = [(one or {"spec": {}})["spec"].get("tokenRequests") for one in (old, obj)]
        fresh = old is None or asked[0] != asked[1]
        return found + ([_TOKENS] if fresh and _shows_tokens(obj["spec"]) else [])
    if (group_version, kind) == ("apiextensions.k8s.io/v1", "CustomResourceDefinition"):
        before = _sets_of_objects(old) if old is not None else set()
        return found + sorted(_sets_of_objects(obj) - before)
    return found + _template(kind, obj, old)


def _sets_of_objects(definition: Object) -> set[str]:
    """Return the warnings about list types that neither apply nor rules support."""
    # apiextensions-apiserver: pkg/registry/customresourcedefinition/strategy.go
    found: set[str] = set()
    pending: list[Any] = [one.get("schema") for one in definition["spec"].get("versions") or ()]
    while pending:
        value = pending.pop()
        if isinstance(value, dict):
            item = value.get("items")
            kind = item.get("type") if isinstance(item, dict) else None
            if value.get("x-kubernetes-list-type") == "set" and kind in ("object", "array"):
                found.add(_SET_OF_OBJECTS.format(kind))
            pending += value.values()
        elif isinstance(value, list):
            pending += value
    return found


def _shows_tokens(driver: Object) -> bool:
    return bool(driver.get("tokenRequests")) and driver.get("serviceAccountTokenInSecrets") is None


def custom_warnings(obj: Object, old: Object | None = None) -> list[str]:
    """Return the warnings about a custom resource: finalizers without a domain."""
    # apiextensions-apiserver: pkg/registry/customresource/strategy.go
    before = (old or {}).get("metadata", {}).get("finalizers") or ()
    added = sorted(set(obj["metadata"].get("finalizers") or ()) - set(before))
    return [
        f"metadata.finalizers: {show(name)}: {_DOMAIN.format(_PATH if '.' in name else '')}"
        for name in added
        if "/" not in name and name not in _STANDARD_FINALIZERS
    ]


def _template(kind: str, obj: Object, old: Object | None) -> list[str]:
    if kind == "CronJob":
        inner, before = obj["spec"]["jobTemplate"], old and old["spec"]["jobTemplate"]
        path = "spec.jobTemplate.spec.template"
    elif kind in (*_WORKLOADS, "StatefulSet", "DaemonSet"):
        inner, before, path = obj, old, "spec.template"
    else:
        return []
    template = inner["spec"].get("template")
    if template is None or (before and before["spec"].get("template") == template):
        return []
    return cut(_pod(template, f"{path}."))


def _name(kind: str, name: str) -> Iterator[str]:
    use = _POD_NAME if kind == "Pod" else _WORKLOAD_NAME if kind in _WORKLOADS else ""
    if use and (whys := label_problems(name)):
        yield f"metadata.name: {use}, {_SURPRISE}: {go_text(whys)}"


def _pod(pod: Object, path: str) -> Iterator[str]:
    spec = pod["spec"]
    for key in spec.get("nodeSelector") or ():
        if key in _LABELS:
            yield f"{path}spec.nodeSelector[{key}]: {_LABELS[key]}"
    affinity = spec.get("affinity") or {}
    yield from _node_affinity(affinity.get("nodeAffinity") or {}, f"{path}spec.affinity")
    for i, constraint in enumerate(spec.get("topologySpreadConstraints") or ()):
        where, key = f"{path}spec.topologySpreadConstraints[{i}]", constraint["topologyKey"]
        if key in _LABELS:
            yield f"{where}.topologyKey: {key} is {_LABELS[key]}"
        if constraint.get("labelSelector") is None:
            yield f"{where}.labelSelector: {_NO_SELECTOR}"
    given: Mapping[str, str] = (pod.get("metadata") or {}).get("annotations") or {}
    for key, text in _ANNOTATIONS.items():
        if key in given:
            yield f"{path}metadata.annotations[{key}]: {text}"
    yield from _volumes(spec, path)
    yield from _overlaps(spec)
    yield from _repeated(spec.get("hostAliases") or (), "ip", f"{path}spec.hostAliases")
    secrets = spec.get("imagePullSecrets") or ()
    yield from _repeated(secrets, "name", f"{path}spec.imagePullSecrets")
    for i, secret in enumerate(secrets):
        if not secret.get("name"):
            yield f'{path}spec.imagePullSecrets[{i}].name: invalid empty name ""'
    yield from _containers(spec, path)
    if (spec.get("terminationGracePeriodSeconds") or 0) < 0:
        text = "must be >= 0; negative values are invalid and will be treated as 1"
        yield f"{path}spec.terminationGracePeriodSeconds: {text}"
    yield from _pod_affinity(affinity, f"{path}spec.affinity")


def _node_affinity(affinity: Object, path: str) -> Iterator[str]:
    name = "requiredDuringSchedulingIgnoredDuringExecution"
    terms = (affinity.get(name) or {}).get("nodeSelectorTerms") or ()
    for i, term in enumerate(terms):
        yield from _node_term(term, f"{path}.nodeAffinity.{name}.nodeSelectorTerms[{i}]")
    name = "preferredDuringSchedulingIgnoredDuringExecution"
    for i, preferred in enumerate(affinity.get(name) or ()):
        where = f"{path}.nodeAffinity.{name}[{i}].preference"
        yield from _node_term(preferred["preference"], where)
        for j, one in enumerate(preferred["preference"].get("matchExpressions") or ()):
            for k, value in enumerate(one.get("values") or ()):
                for why in label_value_problems(value):
                    place = f"{where}.matchExpressions[{j}].values[{k}]"
                    yield f"{place}: {value} is invalid, {why}"


def _node_term(term: Object, path: str) -> Iterator[str]:
    for i, one in enumerate(term.get("matchExpressions") or ()):
        if one["key"] in _LABELS:
            yield f"{path}.matchExpressions[{i}].key: {one['key']} is {_LABELS[one['key']]}"


def _pod_affinity(affinity: Object, path: str) -> Iterator[str]:
    for kind in ("podAffinity", "podAntiAffinity"):
        terms = affinity.get(kind) or {}
        name = "requiredDuringSchedulingIgnoredDuringExecution"
        for i, term in enumerate(terms.get(name) or ()):
            if term.get("labelSelector") is None:
                yield f"{path}.{kind}.{name}[{i}].labelSelector: {_NO_SELECTOR}"
        name = "preferredDuringSchedulingIgnoredDuringExecution"
        for i, weighted in enumerate(terms.get(name) or ()):
            if weighted["podAffinityTerm"].get("labelSelector") is None:
                where = f"{path}.{kind}.{name}[{i}].podAffinityTerm"
                yield f"{where}.labelSelector: {_NO_SELECTOR}"


def _volumes(spec: Object, path: str) -> Iterator[str]:
    for i, volume in enumerate(spec.get("volumes") or ()):
        for name, text in _VOLUMES.items():
            if volume.get(name) is not None:
                shown_name = "storageOS" if name == "storageos" else name
                yield f"{path}spec.volumes[{i}].{shown_name}: {text}"
        template = (volume.get("ephemeral") or {}).get("volumeClaimTemplate")
        if template is not None:
            where = f"{path}spec.volumes[{i}].ephemeral.volumeClaimTemplate.spec"
            yield from _claim(template["spec"], where)


def _claim(spec: Object, path: str) -> Iterator[str]:
    for field in ("requests", "limits"):
        amounts = spec["resources"].get(field) or {}
        yield from _fractional(amounts, ("storage",), f"{path}.resources.{field}")


def _fractional(amounts: Mapping[str, str], names: tuple[str, ...], path: str) -> Iterator[str]:
    for name in names:
        if name in amounts and milli_value(amounts[name]) % 1000:
            text = f"fractional byte value {show(amounts[name])} is invalid, must be an integer"
            yield f"{path}[{name}]: {text}"


def _repeated(items: list[Object] | tuple[()], field: str, path: str) -> Iterator[str]:
    seen: set[str] = set()
    for i, item in enumerate(items):
        value = item.get(field) or ""
        if value in seen:
            yield f"{path}[{i}].{field}: duplicate {field} {show(value)}"
        seen.add(value)


def _containers(spec: Object, path: str) -> Iterator[str]:
    every = [
        (f"{path}spec.{field}[{i}]", container)
        for field in ("initContainers", "containers")
        for i, container in enumerate(spec.get(field) or ())
    ]
    for where, container in every:
        for field in ("limits", "requests"):
            amounts = container["resources"].get(field) or {}
            names = ("memory",)
            yield from _fractional(amounts, names, f"{where}.resources.{field}")
        for field in ("limits", "requests"):
            amounts = container["resources"].get(field) or {}
            names = ("ephemeral-storage",)
            yield from _fractional(amounts, names, f"{where}.resources.{field}")
        yield from _environment(container, where)
    yield from _ports(every)


def _environment(container: Object, path: str) -> Iterator[str]:
    seen: set[str] = set()
    for i, variable in enumerate(container.get("env") or ()):
        name, value = variable["name"], variable.get("value", "")
        reference = f"$({name})"
        # A later definition may refer to the earlier one.
        extends = reference in value and value != reference and not variable.get("valueFrom")
        if name in seen and not extends:
            text = f"hides previous definition of {show(name)}, which may be dropped when using"
            yield f"{path}.env[{i}]: {text} apply"
        seen.add(name)


def _port_shown(port: Object) -> str:
    """Return a port as Go prints the struct."""
    names = ("name", "hostPort", "containerPort", "protocol", "hostIP")
    empty = {"hostPort": 0, "containerPort": 0}
    return go_struct({f"{n[0].upper()}{n[1:]}": port.get(n, empty.get(n, "")) for n in names})


def _overlaps(spec: Object) -> Iterator[str]:
    """Yield warnings about files of one volume whose paths overlap."""
    # kubernetes: pkg/api/pod/warnings.go, warningsForOverlappingVirtualPaths
    for volume in spec.get("volumes") or ():
        start = f"volume {show(volume['name'])}"
        for field, title, named in _FILES:
            if (source := volume.get(field)) is not None:
                name = f" {show(source.get(named) or '')}" if named else ""
                for text in _colliding((one["path"], "") for one in source.get("items") or ()):
                    yield f"{start} ({title}{name}): overlapping paths: {text}"
        files: list[tuple[str, str]] = []
        for source in (volume.get("projected") or {}).get("sources") or ():
            if not source:
                yield f"{start} (Projected) has no sources provided"
            files += _projected_files(source)
        for text in _colliding(files):
            yield f"{start} (Projected): overlapping paths: {text}"


def _projected_files(source: Object) -> list[tuple[str, str]]:
    for field, title in (("configMap", "ConfigMap"), ("secret", "Secret")):
        if (one := source.get(field)) is not None and one.get("items"):
            name = show(one.get("name") or "")
            return [(item["path"], f"{title} {name}") for item in one["items"]]
    if (fields := source.get("downwardAPI")) is not None:
        return [(item["path"], "DownwardAPI") for item in fields.get("items") or ()]
    if (token := source.get("serviceAccountToken")) is not None:
        return [(token["path"], "ServiceAccountToken")]
    return []


def _colliding(files: Iterable[tuple[str, str]]) -> Iterator[str]:
    listed = [(path.rstrip("/"), source) for path, source in files]
    listed = [file for file in listed if file[0]]
    nearby = _in_the_way(listed)
    #: For each file, the overlapping files that came up since it was last visited.
    waiting: dict[_File, list[_File]] = {}
    for file in listed:
        others = waiting.pop(file, [])
        if file in nearby:
            # The first occurrence of this file.
            for other in nearby.pop(file):
                waiting.setdefault(other, []).append(file)
        else:
            others.insert(0, file)
        for other in others:
            yield f"{_file(*file)} with {_file(*other)}"


def _in_the_way(files: Iterable[_File]) -> dict[_File, list[_File]]:
    """Return, for each file, the others whose paths are above or below its own."""
    found: dict[_File, list[_File]] = {}
    above: list[_File] = []
    # In this order, everything below a path directly follows it.
    for file in sorted(set(files), key=lambda file: f"{file[0]}/"):
        while above and not f"{file[0]}/".startswith(f"{above[-1][0]}/"):
            above.pop()
        found[file] = list(above)
        for other in above:
            found[other].append(file)
        above.append(file)
    return found


def _file(path: str, source: str) -> str:
    return f"{show(path)} ({source})" if source else show(path)


def _ports(containers: list[tuple[str, Object]]) -> Iterator[str]:
    seen: dict[tuple[int, str], _SamePort] = {}
    ports = [
        (f"{where}.ports[{i}]", port)
        for where, container in containers
        for i, port in enumerate(container.get("ports") or ())
    ]
    for where, port in ports:
        if port.get("hostIP") and not port.get("hostPort"):
            yield f"{where}: hostIP set without hostPort: {_port_shown(port)}"
        others = seen.setdefault((port["containerPort"], port.get("protocol", "")), _SamePort())
        address, number = port.get("hostIP", ""), port.get("hostPort", 0)
        for what, place in others.add(address, number, where):
            yield f"{where}: {what} port definition with {place}"
    names: dict[str, str] = {}
    for where, port in ports:
        if not (name := port.get("name")):
            continue
        first = names.get(name)
        if first is not None:
            yield (
                f"{where}: duplicate port name {show(name)} with {first}, services and probes "
                f"that select ports by name will use {first}"
            )
        else:
            names[name] = where


class _SamePort:
    """The definitions of one container port, by host address and host port."""

    def __init__(self) -> None:
        self._places: list[tuple[int, str]] = []
        self._without_host: list[tuple[int, str]] = []
        self._by_host: dict[tuple[str, int], list[tuple[int, str]]] = {}
        #: The definitions with a host address, by host port.
        self._addressed: dict[int, list[tuple[int, str]]] = {}

    def add(self, address: str, number: int, where: str) -> Iterator[tuple[str, str]]:
        """Add a definition, and yield its conflicts with earlier ones, as (conflict, place)."""
        same = self._by_host.setdefault((address, number), [])
        if number:
            found = [(*one, "duplicate") for one in same]
            found += [(*one, "overlapping") for one in self._without_host]
            if address:
                ambiguous = self._by_host.get(("", number), [])
            else:
                ambiguous = self._addressed.get(number, [])
            found += [(*one, "dangerously ambiguous") for one in ambiguous]
        else:
            known = {count for count, _ in same}
            found = [
                (*one, "duplicate" if one[0] in known else "overlapping") for one in self._places
            ]
        yield from ((what, place) for _, place, what in sorted(found))
        entry = (len(self._places), where)
        self._places.append(entry)
        same.append(entry)
        if not number:
            self._without_host.append(entry)
        elif address:
            self._addressed.setdefault(number, []).append(entry)


def _service(spec: Object) -> Iterator[str]:
    headless = spec.get("clusterIP") == "None"
    external, kind = spec.get("externalIPs"), spec.get("type")
    if headless:
        if spec.get("loadBalancerIP"):
            yield "spec.loadBalancerIP is ignored for headless services"
        if external:
            yield "spec.externalIPs is ignored for headless services"
        if spec.get("sessionAffinity") != "None":
            yield "spec.SessionAffinity is ignored for headless services"
    if external and not headless and kind != "ExternalName":
        yield "spec.externalIPs is deprecated and may no longer be implemented in some clusters"
    if external and kind == "ExternalName":
        yield 'spec.externalIPs is ignored when spec.type is "ExternalName"'
    if kind != "ExternalName" and spec.get("externalName"):
        yield 'spec.externalName is ignored when spec.type is not "ExternalName"'
    if spec.get("trafficDistribution") == "PreferClose":
        yield 'spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"'


def _volume(spec: Object) -> Iterator[str]:
    if spec.get("persistentVolumeReclaimPolicy") == "Recycle":
        yield f"spec.persistentVolumeReclaimPolicy: {_RECYCLE}"
    terms = ((spec.get("nodeAffinity") or {}).get("required") or {}).get("nodeSelectorTerms") or ()
    for i, term in enumerate(terms):
        yield from _node_term(term, f"spec.nodeAffinity.required.nodeSelectorTerms[{i}]")
    for name in ("cephfs", "photonPersistentDisk", "scaleIO", "storageos", "glusterfs", "rbd"):
        if spec.get(name) is not None:
            shown_name = "storageOS" if name == "storageos" else name
            yield f"spec.{shown_name}: {_VOLUMES[name]}"
