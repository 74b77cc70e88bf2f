"""The token subresource of service accounts."""

# kube-apiserver: pkg/registry/core/serviceaccount/storage/token.go

from __future__ import annotations

from typing import Any

from mooring.api.field_errors import invalid
from mooring.api.go_format import go_quote
from mooring.api.timestamps import format_time
from mooring.apiserver import bodies, refusals
from mooring.apiserver.auth.tokens import ISSUER, TokenSigner
from mooring.apiserver.http import ApiRequest, ApiResponse, answer
from mooring.apiserver.refusals import Refusal
from mooring.apiserver.request_paths import RequestInfo
from mooring.apiserver.resource_table import Served
from mooring.apiserver.server_state import ServerState

Object = dict[str, Any]

_GROUP = "authentication.k8s.io"
_VERSION = f"{_GROUP}/v1"
OTHER_ACCOUNT = (
    "cannot bind token for serviceaccount {} to pod running with different serviceaccount name."
)
_LEAST, _DEFAULT, _MOST = 600, 3600, 2**32
_BOUND = {"Pod": "/pods", "Secret": "/secrets", "Node": "/nodes"}


def create(
    cluster: ServerState,
    request: ApiRequest,
    info: RequestInfo,
    served: Served,
    signer: TokenSigner,
) -> ApiResponse:
    """Return a response with a token for a service account."""
    how = bodies.options(request)
    type = cluster.catalogue.table.find(_VERSION, "TokenRequest")
    assert type is not None
    asked = bodies.read_typed(request, type, "TokenRequest", _VERSION, how)
    if cluster.lookup("/namespaces", "", info.namespace) is None:
        raise refusals.not_found("namespaces", "", info.namespace)
    metadata = asked.setdefault("metadata", {})
    bodies.check_namespace(metadata, info.namespace)
    if (metadata.get("name") or info.name) != info.name:
        why = "must match the service account name if specified"
        raise _invalid(info.name, "metadata.name", metadata["name"], why)
    account = cluster.find(served, info.namespace, info.name).object
    uid = account["metadata"]["uid"]
    if metadata.get("uid") and metadata["uid"] != uid:
        why = (
            f"the UID in the token request ({metadata['uid']}) does not match the UID of the "
            f"service account ({uid})"
        )
        raise refusals.conflict("TokenRequest", _GROUP, info.name, why)
    spec = asked.setdefault("spec", {})
    seconds = spec.get("expirationSeconds")
    seconds = _DEFAULT if seconds is None else seconds
    _check(seconds)
    audiences = tuple(spec.get("audiences") or (ISSUER,))
    bound = _bound(cluster, info, spec.get("boundObjectRef"))
    token = signer.issue(cluster, account, audiences, seconds, bound)
    ends = cluster.now().timestamp() + seconds
    spec["audiences"], spec["expirationSeconds"] = list(audiences), seconds
    asked["metadata"] = metadata | {
        "name": info.name,
        "namespace": info.namespace,
        "uid": uid,
        "creationTimestamp": cluster.timestamp(),
    }
    asked["status"] = {"token": token, "expirationTimestamp": format_time(ends)}
    return answer(asked, 201)


def _invalid(name: str, path: str, value: Any, why: str) -> Refusal:
    return refusals.invalid("TokenRequest", _GROUP, name, [invalid(path, value, why)])


def _check(seconds: int) -> None:
    path = "spec.expirationSeconds"
    why = ""
    if seconds < _LEAST:
        why = "may not specify a duration less than 10 minutes"
    elif seconds > _MOST:
        why = "may not specify a duration larger than 2^32 seconds"
    if why:
        raise _invalid("", path, seconds, why)


def _bound(cluster: ServerState, info: RequestInfo, reference: Object | None) -> Object | None:
    """Return the object that a token is bound to, and a pod's node, by kind; None for none."""
    if not reference:
        return None
    kind, name = reference.get("kind") or "", reference.get("name") or ""
    group, _, version = (reference.get("apiVersion") or "").rpartition("/")
    place = _BOUND.get(kind) if not group else None
    if place is None:
        of = f"{group}/{version}, Kind={kind}"
        raise refusals.bad_request(f"cannot bind token to object of type {of}")
    found = cluster.lookup(place, "" if kind == "Node" else info.namespace, name)
    if found is None:
        raise refusals.not_found(place[1:], "", name)
    bound = {kind.lower(): _reference(found)}
    spec = found.get("spec") or {}
    if kind == "Pod" and spec.get("serviceAccountName") != info.name:
        raise refusals.bad_request(OTHER_ACCOUNT.format(go_quote(info.name)))
    if kind == "Pod" and (node := spec.get("nodeName")):
        there = cluster.lookup("/nodes", "", node)
        bound["node"] = _reference(there) if there is not None else {"name": node}
    uid = found["metadata"]["uid"]
    if reference.get("uid") and reference["uid"] != uid:
        why = (
            f"the UID in the bound object reference ({reference['uid']}) does not match the UID "
            f"in record. The object might have been deleted and then recreated"
        )
        raise refusals.conflict(kind, "", name, why)
    return bound


def _reference(obj: Object) -> Object:
    return {"name": obj["metadata"]["name"], "uid": obj["metadata"]["uid"]}
