"""Rights on parts of a ResourceClaim's status: the allocation, and the devices of a driver."""

# kube-apiserver: pkg/registry/resource/utils.go, pkg/registry/resource/resourceclaim/strategy.go

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from mooring.api.field_errors import FieldError, forbidden
from mooring.apiserver.auth.authorization import Attributes, Authorizer, attributes
from mooring.apiserver.auth.impersonation import split_account
from mooring.apiserver.auth.tokens import NODE_NAME
from mooring.apiserver.http import RequestUser
from mooring.apiserver.refusals import Refusal
from mooring.apiserver.validation.formats import subdomain_problems
from mooring.apiserver.write import Write

Object = dict[str, Any]

CLAIMS = "resource.k8s.io/resourceclaims"
_BINDING = (
    "changing status.allocation or status.reservedFor requires "
    'resource="resourceclaims/binding", verb="{}" permission: {}'
)
_DRIVER = (
    'changing status.devices requires resource="resourceclaims/driver", verb="{}" permission: {}'
)


def drop_deallocated(claim: Object, old: Object) -> None:
    """Remove the status of devices that are no longer allocated."""
    status = claim.get("status") or {}
    if not status.get("devices"):
        return
    gone = _allocated(old) - _allocated(claim)
    kept = [device for device in status["devices"] if _key(device) not in gone]
    if kept:
        status["devices"] = kept
    else:
        del status["devices"]


def check_rights(write: Write, claim: Object, old: Object) -> Iterator[FieldError]:
    """Yield the problems of a status that its writer has no right to write."""
    status, before = claim.get("status") or {}, old.get("status") or {}
    authorizer = Authorizer(write.cluster)
    asked = attributes(write.request.user, write.info)
    fields = ("allocation", "reservedFor")
    if any((status.get(name) or None) != (before.get(name) or None) for name in fields):
        # A right in all namespaces: an allocation takes devices from every claim.
        bound = replace(asked, subresource="binding", namespace="", name="")
        if refusal := _refusal(authorizer, bound):
            yield forbidden("status.allocation", _BINDING.format(asked.verb, refusal))
    if status.get("allocation"):
        yield from _check_devices(authorizer, asked, status, before)


def _check_devices(
    authorizer: Authorizer, asked: Attributes, status: Object, before: Object
) -> Iterator[FieldError]:
    old = {_key(device): device for device in before.get("devices") or ()}
    new = {_key(device): device for device in status.get("devices") or ()}
    changed = {key[0] for key in old.keys() | new.keys() if old.get(key) != new.get(key)}
    verbs = [f"arbitrary-node:{asked.verb}"]
    if _is_on_node(asked.user, _node_of(status["allocation"])):
        verbs.insert(0, f"associated-node:{asked.verb}")
    for driver in sorted(changed):
        tried = [replace(asked, verb=verb, subresource="driver", name=driver) for verb in verbs]
        found = [_refusal(authorizer, one) for one in tried]
        if None not in found:
            yield forbidden("status.devices", _DRIVER.format(f"[{' '.join(verbs)}]", found[0]))


def _refusal(authorizer: Authorizer, asked: Attributes) -> Refusal | None:
    return None if authorizer.allows(asked) else authorizer.refusal(asked)


def _key(device: Object) -> tuple[str, str, str, str]:
    driver, pool = device.get("driver") or "", device.get("pool") or ""
    return driver, pool, device.get("device") or "", device.get("shareID") or ""


def _allocated(claim: Object) -> set[tuple[str, str, str, str]]:
    allocation = (claim.get("status") or {}).get("allocation") or {}
    return {_key(one) for one in (allocation.get("devices") or {}).get("results") or ()}


def _node_of(allocation: Object) -> str:
    """Return the only node on which an allocation can be used, "" if it is not one by its name."""
    terms = (allocation.get("nodeSelector") or {}).get("nodeSelectorTerms") or []
    if len(terms) != 1 or terms[0].get("matchExpressions"):
        return ""
    fields = terms[0].get("matchFields") or []
    if len(fields) != 1 or len(fields[0].get("values") or []) != 1:
        return ""
    is_name = (fields[0].get("key"), fields[0].get("operator")) == ("metadata.name", "In")
    return str(fields[0]["values"][0]) if is_name else ""


def _is_on_node(user: RequestUser, node: str) -> bool:
    """Return whether a user is the service account of a pod on a node."""
    is_account = bool(split_account(user.name)[1])
    return is_account and not subdomain_problems(node) and user.extra.get(NODE_NAME) == (node,)
