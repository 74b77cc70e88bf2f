"""The token subresource of service accounts."""

# kube-apiserver: pkg/registry/core/serviceaccount/storage/token.go

from __future__ import annotations

from typing import Any

from mooring.api.field_errors import invalid
from mooring.api.timestamps import format_time
from mooring.apiserver import bodies, refusals
from mooring.apiserver.auth.tokens import ISSUER, TokenSigner
from mooring.apiserver.http import ApiRequest, ApiResponse, answer
from mooring.apiserver.request_paths import RequestInfo
from mooring.apiserver.resource_table import Served
from mooring.apiserver.server_state import ServerState

Object = dict[str, Any]

_VERSION = "authentication.k8s.io/v1"
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
    account = cluster.find(served, info.namespace, info.name).object
    spec = asked.setdefault("spec", {})
    seconds = spec.get("expirationSeconds")
    seconds = _DEFAULT if seconds is None else seconds
    _check(seconds)
    audiences = tuple(spec.get("audiences") or (ISSUER,))
    bound = _bound(cluster, info, spec.get("boundObjectRef"))
    token = signer.issue(cluster, account, audiences, seconds, bound)
    ends = cluster.now().timestamp() + seconds
    spec["audiences"], spec["expirationSeconds"] = list(audiences), seconds
    asked["metadata"] = {
        "name": info.name,
        "namespace": info.namespace,
        "creationTimestamp": cluster.timestamp(),
    }
    asked["status"] = {"token": token, "expirationTimestamp": format_time(ends)}
    return answer(asked, 201)


def _check(seconds: int) -> None:
    path = "spec.expirationSeconds"
    why = ""
    if seconds < _LEAST:
        why = "may not specify a duration less than 10 minutes"
    elif seconds > _MOST:
        why = "may not specify a duration larger than 2^32 seconds"
    if why:
        problem = invalid(path, seconds, why)
        raise refusals.invalid("TokenRequest", "authentication.k8s.io", "", [problem])


def _bound(cluster: ServerState, info: RequestInfo, reference: Object | None) -> Object | None:
    if not reference:
        return None
    kind, name = reference.get("kind", ""), reference.get("name", "")
    place = _BOUND.get(kind)
    if place is None:
        raise refusals.bad_request(f"cannot bind token for serviceaccount to object of type {kind}")
    namespace = "" if kind == "Node" else info.namespace
    found = cluster.lookup(place, namespace, name)
    if found is None:
        raise refusals.not_found(place[1:], "", name)
    uid = found["metadata"]["uid"]
    if reference.get("uid") and reference["uid"] != uid:
        why = (
            f"the UID in the bound object reference ({reference['uid']}) does not match the UID "
            f"in record. The object might have been deleted and then recreated"
        )
        raise refusals.conflict(kind, "", name, why)
    return {"kind": kind, "name": name, "uid": uid}
