"""Refusals: Status objects with kube-apiserver's reasons, codes and texts."""

# apimachinery: pkg/api/errors/errors.go

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from mooring.api.field_errors import FieldError, aggregate
from mooring.controlplane.strategic_patch import UNPROCESSABLE
from mooring.errors import MooringError

Object = dict[str, Any]

UNAUTHORIZED = "Unauthorized"
CONTINUE_EXPIRED = (
    "The provided continue parameter is too old to display a consistent list result. "
    "You can start a new list without the continue parameter, or use the continue token in this "
    "response to retrieve the remainder of the results. Continuing with the provided token results "
    "in an inconsistent list - objects that were created, modified, or deleted between the time "
    "the first chunk was returned and now may show up in the list."
)
NOT_THERE = "the server could not find the requested resource"
METHOD_NOT_ALLOWED = "the server does not allow this method on the requested resource"


class Refusal(MooringError):
    """An error that becomes the response to a request, with its Status object."""

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        details: Object | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.headers = headers or {}
        #: The warnings collected before the request was refused.
        self.warnings: list[str] = []
        self.status: Object = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": message,
        }
        if reason:
            self.status["reason"] = reason
        if details:
            self.status["details"] = details
        self.status["code"] = code


def qualified(resource: str, group: str) -> str:
    """Return a resource as messages name it: `pods`, `deployments.apps`."""
    return f"{resource}.{group}" if group else resource


def _details(name: str, group: str, kind: str, **more: Any) -> Object:
    result: Object = {}
    if name:
        result["name"] = name
    if group:
        result["group"] = group
    if kind:
        result["kind"] = kind
    return result | {key: value for key, value in more.items() if value}


def not_found(resource: str, group: str, name: str) -> Refusal:
    """Return the refusal (404) of a request for an object that does not exist."""
    text = f'{qualified(resource, group)} "{name}" not found'
    return Refusal(404, "NotFound", text, _details(name, group, resource))


def no_such_resource() -> Refusal:
    """Return the refusal (404) of a path that names no resource."""
    return Refusal(404, "NotFound", NOT_THERE, {})


def already_exists(resource: str, group: str, name: str) -> Refusal:
    """Return the refusal (409) to create an object that exists."""
    text = f'{qualified(resource, group)} "{name}" already exists'
    return Refusal(409, "AlreadyExists", text, _details(name, group, resource))


def being_deleted(resource: str, group: str, name: str) -> Refusal:
    """Return the refusal (409) to create an object that is still being deleted."""
    text = f'object is being deleted: {qualified(resource, group)} "{name}" already exists'
    return Refusal(409, "AlreadyExists", text, _details(name, group, resource))


def conflict(resource: str, group: str, name: str, why: str) -> Refusal:
    """Return the refusal (409) of a write that conflicts with the stored object."""
    text = f'Operation cannot be fulfilled on {qualified(resource, group)} "{name}": {why}'
    return Refusal(409, "Conflict", text, _details(name, group, resource))


MODIFIED = (
    "the object has been modified; please apply your changes to the latest version and try again"
)


def forbidden(resource: str, group: str, name: str, why: str) -> Refusal:
    """Return the refusal (403) of a request that authorization or admission does not allow."""
    if not resource and not group:
        text = f"forbidden: {why}"
    elif name:
        text = f'{qualified(resource, group)} "{name}" is forbidden: {why}'
    else:
        text = f"{qualified(resource, group)} is forbidden: {why}"
    return Refusal(403, "Forbidden", text, _details(name, group, resource))


def invalid(kind: str, group: str, name: str, problems: Sequence[FieldError]) -> Refusal:
    """Return the refusal (422) of an invalid object."""
    text = aggregate(f"{problem.path}: {problem.message}" for problem in problems)
    causes = [
        {"reason": problem.reason, "message": problem.message, "field": problem.path}
        for problem in problems
    ]
    message = f'{qualified(kind, group)} "{name}" is invalid' + (f": {text}" if problems else "")
    return Refusal(422, "Invalid", message, _details(name, group, kind, causes=causes))


def bad_request(message: str) -> Refusal:
    """Return the refusal (400) of a malformed request."""
    return Refusal(400, "BadRequest", message)


def unauthorized() -> Refusal:
    """Return the refusal (401) of a request without valid credentials."""
    return Refusal(401, "Unauthorized", UNAUTHORIZED)


def method_not_allowed() -> Refusal:
    """Return the refusal (405) of a method that a path does not support."""
    return Refusal(405, "MethodNotAllowed", METHOD_NOT_ALLOWED, {})


def unsupported_media_type(supported: Iterable[str]) -> Refusal:
    """Return the refusal (415) of a body in an unsupported media type."""
    text = (
        "the body of the request was in an unknown format - accepted media types include: "
        + ", ".join(supported)
    )
    return Refusal(415, "UnsupportedMediaType", text)


def not_acceptable(supported: Iterable[str]) -> Refusal:
    """Return the refusal (406) to respond in an unsupported media type."""
    text = "only the following media types are accepted: " + ", ".join(supported)
    return Refusal(406, "NotAcceptable", text)


def too_large(why: str) -> Refusal:
    """Return the refusal (413) of a body that is too large."""
    return Refusal(413, "RequestEntityTooLarge", f"Request entity too large: {why}")


def timed_out(why: str) -> Refusal:
    """Return the refusal (504) of a request that took too long to arrive."""
    return Refusal(504, "Timeout", f"Timeout: {why}", {})


def expired(message: str, continue_token: str = "") -> Refusal:
    """Return the refusal (410) of a resource version that is no longer available."""
    refusal = Refusal(410, "Expired", message)
    if continue_token:
        refusal.status["metadata"]["continue"] = continue_token
    return refusal


def too_many_requests(message: str, causes: list[Object], retry_after: int = 0) -> Refusal:
    """Return the refusal (429) that asks a client to retry later."""
    details: Object = {}
    if causes:
        details["causes"] = causes
    headers = {}
    if retry_after:
        details["retryAfterSeconds"] = retry_after
        headers["Retry-After"] = str(retry_after)
    return Refusal(429, "TooManyRequests", message, details, headers)


def not_implemented(message: str) -> Refusal:
    """Return the refusal (501) of what a cluster with simulated containers cannot do."""
    return Refusal(501, "NotImplemented", message)


def internal(message: str) -> Refusal:
    """Return the refusal (500) for a failure of the server."""
    causes = {"causes": [{"message": message}]}
    return Refusal(500, "InternalError", f"Internal error occurred: {message}", causes)


def unprocessable() -> Refusal:
    """Return the refusal (422) of a patch that cannot be applied."""
    return Refusal(422, "Invalid", UNPROCESSABLE, {})


def failure(message: str) -> Refusal:
    """Return a refusal (400) without a reason, the form that a plain Go error takes.

    kube-apiserver reports these as 500. Here they are 400, as the error is the client's; kubectl
    shows both alike.
    """
    return Refusal(400, "", message)
