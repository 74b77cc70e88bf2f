"""The eviction subresource: deletes a pod if its disruption budget allows it."""

# kube-apiserver: pkg/registry/core/pod/storage/eviction.go

from __future__ import annotations

from typing import Any

from mooring.apiserver import bodies, deleting, refusals
from mooring.apiserver.http import ApiRequest, ApiResponse, answer
from mooring.apiserver.object_status import set_condition, success
from mooring.apiserver.refusals import Refusal
from mooring.apiserver.request_paths import RequestInfo
from mooring.apiserver.resource_store import Stored
from mooring.apiserver.resource_table import Served
from mooring.apiserver.selecting import selector_of
from mooring.apiserver.server_state import ServerState

Object = dict[str, Any]

_BUDGETS = "policy/poddisruptionbudgets"
NAME_MISMATCH = "name in URL does not match name in Eviction object"
VIOLATES = "Cannot evict pod as it would violate the pod's disruption budget."
SEVERAL = (
    "This pod has more than one PodDisruptionBudget, which the eviction subresource does not "
    "support."
)
_MOST_DISRUPTED = 2000


def evict(
    cluster: ServerState, request: ApiRequest, info: RequestInfo, served: Served
) -> ApiResponse:
    """Evict a pod; refuse if its disruption budget does not allow it."""
    how = bodies.options(request)
    type = cluster.catalogue.table.find("policy/v1", "Eviction")
    assert type is not None
    eviction = bodies.read_typed(request, type, "Eviction", "policy/v1", how)
    if (eviction.get("metadata") or {}).get("name") != info.name:
        raise refusals.bad_request(NAME_MISMATCH)
    options: Object = dict(eviction.get("deleteOptions") or {})
    dry = how.dry_run or bool(options.get("dryRun"))
    live = cluster.find(served, info.namespace, info.name)
    if not _is_free(live.object):
        _ask_budgets(cluster, live.object, dry)
    if dry:
        options["dryRun"] = ["All"]
    else:
        live = _mark(cluster, served, live)
    deleting.delete(cluster, served, live, options)
    return answer(success(201), 201)


def _is_free(pod: Object) -> bool:
    """Return whether budgets do not apply: the pod is finished, pending or being deleted."""
    phase = (pod.get("status") or {}).get("phase")
    terminal = phase in ("Succeeded", "Failed", "Pending")
    return terminal or bool(pod["metadata"].get("deletionTimestamp"))


def _mark(cluster: ServerState, served: Served, live: Stored) -> Stored:
    pod = deleting.copy_of(live.object)
    set_condition(
        cluster,
        pod["status"],
        {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "EvictionByEvictionAPI",
            "message": "Eviction API: evicting",
        },
    )
    return cluster.store.put(served.store, live.key, pod)


def _ask_budgets(cluster: ServerState, pod: Object, dry: bool) -> None:
    found = _budgets(cluster, pod)
    if len(found) > 1:
        raise refusals.Refusal(500, "", SEVERAL)
    if not found:
        return
    stored = found[0]
    status = stored.object.get("status") or {}
    ready = any(
        one.get("type") == "Ready" and one.get("status") == "True"
        for one in (pod.get("status") or {}).get("conditions") or ()
    )
    if not ready:
        policy = (stored.object.get("spec") or {}).get("unhealthyPodEvictionPolicy")
        desired = status.get("desiredHealthy", 0)
        if policy == "AlwaysAllow" or (status.get("currentHealthy", 0) >= desired > 0):
            return
    _take(cluster, stored, pod, dry)


def _take(cluster: ServerState, stored: Stored, pod: Object, dry: bool) -> None:
    """Use one disruption of a budget; refuse if none is left."""
    budget = deleting.copy_of(stored.object)
    name, status = budget["metadata"]["name"], budget.setdefault("status", {})
    if (status.get("observedGeneration") or 0) < (budget["metadata"].get("generation") or 0):
        text = f"The disruption budget {name} is still being processed by the server."
        raise _too_many(text, 10)
    allowed = status.get("disruptionsAllowed") or 0
    if allowed < 0:
        why = "pdb disruptions allowed is negative"
        raise refusals.forbidden("poddisruptionbudget", "policy", name, why)
    if len(status.get("disruptedPods") or ()) > _MOST_DISRUPTED:
        why = "DisruptedPods map too big - too many evictions not confirmed by PDB controller"
        raise refusals.forbidden("poddisruptionbudget", "policy", name, why)
    if allowed == 0:
        raise _too_many(_exhausted(name, status), 0)
    status["disruptionsAllowed"] = allowed - 1
    status.setdefault("disruptedPods", {})[pod["metadata"]["name"]] = cluster.timestamp()
    if not dry:
        cluster.store.put(_BUDGETS, stored.key, budget)


def _exhausted(name: str, status: Object) -> str:
    desired, current = status.get("desiredHealthy", 0), status.get("currentHealthy", 0)
    condition: Object = next(
        (one for one in status.get("conditions") or () if one["type"] == "DisruptionAllowed"), {}
    )
    told = condition.get("message") if condition.get("status") == "False" else ""
    if told and condition.get("reason") == "SyncFailed":
        return (
            f"The disruption budget {name} does not allow evicting pods currently because it "
            f"failed sync: {told}"
        )
    if current <= desired:
        return (
            f"The disruption budget {name} needs {desired} healthy pods and has {current} currently"
        )
    why = f" ({condition.get('reason')}): {told}" if told else ""
    return f"The disruption budget {name} does not allow evicting pods currently{why}"


def _too_many(text: str, seconds: int) -> Refusal:
    causes = [{"reason": "DisruptionBudget", "message": text}]
    return refusals.too_many_requests(VIOLATES, causes, seconds)


def _budgets(cluster: ServerState, pod: Object) -> list[Stored]:
    labels = pod["metadata"].get("labels") or {}
    return [
        stored
        for stored in cluster.store.items(_BUDGETS, pod["metadata"]["namespace"])
        if selector_of((stored.object.get("spec") or {}).get("selector")).matches(labels)
    ]
