"""Resource quotas: what an object uses, and whether a quota has room for it.

As in kube-apiserver, the status of a quota is what counts: the quota has no effect until a
controller has written `status.hard` and `status.used`; admission adds to `status.used`.
"""

# apiserver: pkg/admission/plugin/resourcequota/controller.go
# kube-apiserver: pkg/quota/v1/evaluator/core

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

import msgspec

from mooring.api.quantity import Quantity
from mooring.apiserver import refusals
from mooring.apiserver.limits import pod_amounts
from mooring.apiserver.resource_store import Stored
from mooring.apiserver.resource_table import Served
from mooring.apiserver.server_state import ServerState

Object = dict[str, Any]
Amounts = dict[str, Quantity]

QUOTAS = "/resourcequotas"
_IGNORED = frozenset({"/events", "/bindings"})
#: Kinds that a quota may name without `count/`.
ALIASES = frozenset({"replicationcontrollers", "resourcequotas", "secrets", "configmaps"})
_COMPUTE = ("cpu", "memory", "ephemeral-storage")
_DEMANDED = ("cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory")
_BY_CLASS = ".storageclass.storage.k8s.io/"
_ON_UPDATE = frozenset({"/services", "/persistentvolumeclaims"})


class Counted(Protocol):
    """A resource that quotas count: its name, group and key in the store."""

    @property
    def name(self) -> str: ...  # noqa: D102

    @property
    def group(self) -> str: ...  # noqa: D102

    @property
    def store(self) -> str: ...  # noqa: D102


class Charge(msgspec.Struct, frozen=True):
    """The new usage of a quota that admits an object."""

    quota: Stored
    used: Amounts


def check(
    cluster: ServerState, served: Served, obj: Object, old: Object | None = None
) -> list[Charge]:
    """Refuse an object that a quota has no room for; return the charges to make."""
    if served.store in _IGNORED or (old is not None and served.store not in _ON_UPDATE):
        return []
    namespace = obj["metadata"].get("namespace")
    charges = []
    for stored in cluster.store.items(QUOTAS, namespace) if namespace else ():
        status = stored.object.get("status") or {}
        hard, used = _amounts(status.get("hard")), _amounts(status.get("used"))
        taken = usage(served, obj)
        bound = [name for name in hard if name in taken or _concerns(served, name)]
        if not bound or not in_scope(served, stored.object, obj):
            continue
        if served.store == "/pods":
            _demand(served, stored, obj, bound)
        if unknown := sorted(name for name in bound if name not in used):
            why = f"status unknown for quota: {_name(stored)}, resources: {','.join(unknown)}"
            raise _forbidden(served, obj, why)
        before = usage(served, old) if old is not None else {}
        wanted = {
            name: rise
            for name, amount in taken.items()
            if name in hard and (rise := amount - before.get(name, Quantity(0))).nanos > 0
        }
        _check_room(served, stored, obj, wanted)
        if wanted:
            charges.append(Charge(stored, used | {n: used[n] + one for n, one in wanted.items()}))
    return charges


def charge(cluster: ServerState, charges: Iterable[Charge]) -> None:
    """Write the new usage to the quotas."""
    for one in charges:
        quota = one.quota.object
        used = {name: str(amount) for name, amount in sorted(one.used.items())}
        changed = quota | {"status": quota["status"] | {"used": used}}
        cluster.store.put(QUOTAS, one.quota.key, changed)


def _amounts(texts: Object | None) -> Amounts:
    return {name: Quantity(text) for name, text in (texts or {}).items()}


def _name(stored: Stored) -> str:
    name: str = stored.object["metadata"]["name"]
    return name


def _forbidden(served: Served, obj: Object, why: str) -> refusals.Refusal:
    return refusals.forbidden(served.name, served.group, obj["metadata"].get("name") or "", why)


def _told(names: Iterable[str], amounts: Amounts) -> str:
    return ",".join(f"{name}={amounts[name]}" for name in sorted(names))


def _check_room(served: Served, stored: Stored, obj: Object, wanted: Amounts) -> None:
    status = stored.object["status"]
    hard, used = _amounts(status.get("hard")), _amounts(status.get("used"))
    over = [name for name, amount in wanted.items() if hard[name] < used[name] + amount]
    if over:
        why = (
            f"exceeded quota: {_name(stored)}, requested: {_told(over, wanted)}, "
            f"used: {_told(over, used)}, limited: {_told(over, hard)}"
        )
        raise _forbidden(served, obj, why)


def _demand(served: Served, stored: Stored, pod: Object, bound: list[str]) -> None:
    """Refuse a pod whose containers do not set the requests and limits that a quota counts."""
    if (pod["spec"].get("resources") or {}).keys() & {"requests", "limits"}:
        return
    missing: dict[str, set[str]] = {}
    spec = pod["spec"]
    for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ())):
        resources = container.get("resources") or {}
        for name in bound:
            kind, _, resource = name.rpartition(".")
            there = resources.get(kind or "requests") or {}
            if name in _DEMANDED and resource not in there:
                missing.setdefault(name, set()).add(container.get("name") or "")
    if missing:
        told = (f"{name} for: {','.join(sorted(who))}" for name, who in sorted(missing.items()))
        why = f"failed quota: {_name(stored)}: must specify {'; '.join(told)}"
        raise _forbidden(served, pod, why)


def _concerns(served: Served, name: str) -> bool:
    """Return whether a quota's resource is counted for a kind, even if an object uses none."""
    if served.store == "/pods":
        kind, _, resource = name.rpartition(".")
        return kind in ("", "requests", "limits") and resource in _COMPUTE
    if served.store == "/persistentvolumeclaims":
        return name == "requests.storage" or name.endswith(f"{_BY_CLASS}requests.storage")
    return False


def is_of_claims(name: str) -> bool:
    """Return whether a quota's resource counts the storage of claims."""
    return name == "requests.storage" or _BY_CLASS in name


def usage(served: Counted, obj: Object) -> Amounts:
    """Return what an object uses, by the resource names of quotas."""
    one = Quantity(1)
    counted = served.name if not served.group else f"{served.name}.{served.group}"
    usage = {f"count/{counted}": one}
    if served.store == "/pods":
        usage |= _pod_usage(obj)
    elif served.store == "/services":
        usage |= _service_usage(obj["spec"])
    elif served.store == "/persistentvolumeclaims":
        usage |= _claim_usage(obj["spec"])
    elif not served.group and served.name in ALIASES:
        usage[served.name] = one
    return usage


def _pod_usage(pod: Object) -> Amounts:
    if (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed"):
        return {}
    usage = {"pods": Quantity(1)}
    for name, amount in pod_amounts(pod, "requests").items():
        usage[f"requests.{name}"] = amount
        if name in _COMPUTE or name.startswith("hugepages-"):
            usage[name] = amount
    for name, amount in pod_amounts(pod, "limits").items():
        if name in _COMPUTE:
            usage[f"limits.{name}"] = amount
    return usage


def _service_usage(spec: Object) -> Amounts:
    kind, ports = spec.get("type"), spec.get("ports") or []
    balanced = kind == "LoadBalancer"
    if balanced and spec.get("allocateLoadBalancerNodePorts") is False:
        ports = [port for port in ports if port.get("nodePort")]
    return {
        "services": Quantity(1),
        "services.loadbalancers": Quantity(int(balanced)),
        "services.nodeports": Quantity(len(ports) if balanced or kind == "NodePort" else 0),
    }


def _claim_usage(spec: Object) -> Amounts:
    usage = {"persistentvolumeclaims": Quantity(1)}
    asked = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
    if asked is not None:
        usage["requests.storage"] = Quantity(asked)
    if name := spec.get("storageClassName"):
        usage |= {f"{name}{_BY_CLASS}{key}": amount for key, amount in usage.items()}
    return usage


def in_scope(served: Counted, quota: Object, obj: Object) -> bool:
    """Return whether an object is in the scopes of a quota."""
    spec = quota.get("spec") or {}
    wanted: list[Object] = [{"scopeName": one} for one in spec.get("scopes") or ()]
    wanted += (spec.get("scopeSelector") or {}).get("matchExpressions") or ()
    return all(_matches(served, one, obj) for one in wanted)


def _matches(served: Counted, scope: Object, obj: Object) -> bool:
    name, spec = scope["scopeName"], obj.get("spec") or {}
    if served.store == "/persistentvolumeclaims" and name == "VolumeAttributesClass":
        return _selects(scope, spec.get("volumeAttributesClassName") or "")
    if served.store != "/pods":
        return False
    if name == "PriorityClass":
        return _selects(scope, spec.get("priorityClassName") or "")
    terminating = spec.get("activeDeadlineSeconds") is not None
    modest = (obj.get("status") or {}).get("qosClass") == "BestEffort"
    answers: dict[str, bool] = {
        "Terminating": terminating,
        "NotTerminating": not terminating,
        "BestEffort": modest,
        "NotBestEffort": not modest,
        "CrossNamespacePodAffinity": _looks_elsewhere(spec),
    }
    return answers.get(name, False)


def _selects(scope: Object, value: str) -> bool:
    operator = scope.get("operator", "Exists")
    values: list[str] = scope.get("values") or []
    if operator == "In":
        return value in values
    if operator == "NotIn":
        return value not in values
    exists: bool = operator == "Exists"
    return bool(value) == exists


def _looks_elsewhere(spec: Object) -> bool:
    """Return whether a pod's affinity names other namespaces."""
    for kind in ("podAffinity", "podAntiAffinity"):
        affinity = (spec.get("affinity") or {}).get(kind) or {}
        weighted = affinity.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
        terms = [
            *(affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or ()),
            *(one.get("podAffinityTerm") or {} for one in weighted),
        ]
        if any(one.get("namespaces") or one.get("namespaceSelector") is not None for one in terms):
            return True
    return False
