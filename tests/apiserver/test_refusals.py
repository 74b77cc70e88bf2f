from __future__ import annotations

from typing import Any

import pytest

from mooring.api.field_errors import required
from mooring.apiserver import refusals
from mooring.apiserver.refusals import Refusal

_PROBLEM = required("spec.a")
ALL: dict[str, tuple[Refusal, dict[str, Any]]] = {
    "an object that does not exist": (
        refusals.not_found("pods", "", "p"),
        {
            "message": 'pods "p" not found',
            "reason": "NotFound",
            "details": {
                "name": "p",
                "kind": "pods",
            },
            "code": 404,
        },
    ),
    "a path of no resource": (
        refusals.no_such_resource(),
        {
            "message": "the server could not find the requested resource",
            "reason": "NotFound",
            "code": 404,
        },
    ),
    "an object that exists": (
        refusals.already_exists("jobs", "batch", "j"),
        {
            "message": 'jobs.batch "j" already exists',
            "reason": "AlreadyExists",
            "details": {
                "name": "j",
                "group": "batch",
                "kind": "jobs",
            },
            "code": 409,
        },
    ),
    "an object that is being deleted": (
        refusals.being_deleted("pods", "", "p"),
        {
            "message": 'object is being deleted: pods "p" already exists',
            "reason": "AlreadyExists",
            "details": {
                "name": "p",
                "kind": "pods",
            },
            "code": 409,
        },
    ),
    "a conflict": (
        refusals.conflict("pods", "", "p", refusals.MODIFIED),
        {
            "message": (
                'Operation cannot be fulfilled on pods "p": the object has been modified; '
                "please apply your changes to the latest version and try again"
            ),
            "reason": "Conflict",
            "details": {
                "name": "p",
                "kind": "pods",
            },
            "code": 409,
        },
    ),
    "an object that is forbidden": (
        refusals.forbidden("jobs", "batch", "j", "no"),
        {
            "message": 'jobs.batch "j" is forbidden: no',
            "reason": "Forbidden",
            "details": {
                "name": "j",
                "group": "batch",
                "kind": "jobs",
            },
            "code": 403,
        },
    ),
    "a kind that is forbidden": (
        refusals.forbidden("jobs", "batch", "", "no"),
        {
            "message": "jobs.batch is forbidden: no",
            "reason": "Forbidden",
            "details": {
                "group": "batch",
                "kind": "jobs",
            },
            "code": 403,
        },
    ),
    "a path that is forbidden": (
        refusals.forbidden("", "", "", "no"),
        {
            "message": "forbidden: no",
            "reason": "Forbidden",
            "code": 403,
        },
    ),
    "one problem": (
        refusals.invalid("Pod", "", "p", [_PROBLEM]),
        {
            "message": 'Pod "p" is invalid: spec.a: Required value',
            "reason": "Invalid",
            "details": {
                "name": "p",
                "kind": "Pod",
                "causes": [
                    {
                        "reason": "FieldValueRequired",
                        "message": "Required value",
                        "field": "spec.a",
                    }
                ],
            },
            "code": 422,
        },
    ),
    "a problem twice": (
        refusals.invalid("Pod", "", "p", [_PROBLEM, _PROBLEM]),
        {
            "message": 'Pod "p" is invalid: spec.a: Required value',
            "reason": "Invalid",
            "details": {
                "name": "p",
                "kind": "Pod",
                "causes": [
                    {
                        "reason": "FieldValueRequired",
                        "message": "Required value",
                        "field": "spec.a",
                    },
                    {
                        "reason": "FieldValueRequired",
                        "message": "Required value",
                        "field": "spec.a",
                    },
                ],
            },
            "code": 422,
        },
    ),
    "two problems": (
        refusals.invalid("Job", "batch", "j", [_PROBLEM, required("b")]),
        {
            "message": 'Job.batch "j" is invalid: [spec.a: Required value, b: Required value]',
            "reason": "Invalid",
            "details": {
                "name": "j",
                "group": "batch",
                "kind": "Job",
                "causes": [
                    {
                        "reason": "FieldValueRequired",
                        "message": "Required value",
                        "field": "spec.a",
                    },
                    {
                        "reason": "FieldValueRequired",
                        "message": "Required value",
                        "field": "b",
                    },
                ],
            },
            "code": 422,
        },
    ),
    "a bad request": (
        refusals.bad_request("what?"),
        {
            "message": "what?",
            "reason": "BadRequest",
            "code": 400,
        },
    ),
    "nobody": (
        refusals.unauthorized(),
        {
            "message": "Unauthorized",
            "reason": "Unauthorized",
            "code": 401,
        },
    ),
    "a method that is not allowed": (
        refusals.method_not_allowed(),
        {
            "message": "the server does not allow this method on the requested resource",
            "reason": "MethodNotAllowed",
            "code": 405,
        },
    ),
    "an unknown type of body": (
        refusals.unsupported_media_type(["a", "b"]),
        {
            "message": (
                "the body of the request was in an unknown format - accepted media types "
                "include: a, b"
            ),
            "reason": "UnsupportedMediaType",
            "code": 415,
        },
    ),
    "an unknown type of response": (
        refusals.not_acceptable(["a", "b"]),
        {
            "message": "only the following media types are accepted: a, b",
            "reason": "NotAcceptable",
            "code": 406,
        },
    ),
    "a large body": (
        refusals.too_large("limit is 5"),
        {
            "message": "Request entity too large: limit is 5",
            "reason": "RequestEntityTooLarge",
            "code": 413,
        },
    ),
    "a slow body": (
        refusals.timed_out("5 s"),
        {
            "message": "Timeout: 5 s",
            "reason": "Timeout",
            "code": 504,
        },
    ),
    "an old version": (
        refusals.expired("too old"),
        {
            "message": "too old",
            "reason": "Expired",
            "code": 410,
        },
    ),
    "an old version of a list": (
        refusals.expired("too old", "token"),
        {
            "metadata": {
                "continue": "token",
            },
            "message": "too old",
            "reason": "Expired",
            "code": 410,
        },
    ),
    "too many requests": (
        refusals.too_many_requests("later", [{"reason": "r"}], 5),
        {
            "message": "later",
            "reason": "TooManyRequests",
            "details": {
                "causes": [
                    {
                        "reason": "r",
                    }
                ],
                "retryAfterSeconds": 5,
            },
            "code": 429,
        },
    ),
    "too many requests, at any time": (
        refusals.too_many_requests("later", []),
        {
            "message": "later",
            "reason": "TooManyRequests",
            "code": 429,
        },
    ),
    "what a simulation cannot do": (
        refusals.not_implemented("no exec"),
        {
            "message": "no exec",
            "reason": "NotImplemented",
            "code": 501,
        },
    ),
    "a failure of the server": (
        refusals.internal("broken"),
        {
            "message": "Internal error occurred: broken",
            "reason": "InternalError",
            "details": {
                "causes": [
                    {
                        "message": "broken",
                    }
                ],
            },
            "code": 500,
        },
    ),
    "a patch that does not fit": (
        refusals.unprocessable(),
        {
            "message": "the server rejected our request due to an error in our request",
            "reason": "Invalid",
            "code": 422,
        },
    ),
    "a plain error": (
        refusals.failure("odd"),
        {
            "message": "odd",
            "code": 400,
        },
    ),
}


@pytest.mark.parametrize(("refusal", "expected"), ALL.values(), ids=ALL)
def test_refusals(refusal: Refusal, expected: dict[str, Any]) -> None:
    status = dict(refusal.status)
    assert status.pop("kind") == "Status" and status.pop("apiVersion") == "v1"
    assert status.pop("status") == "Failure"
    assert status["code"] == refusal.code and status["message"] == str(refusal)
    if not status["metadata"]:
        del status["metadata"]
    assert status == expected


def test_headers_say_when_to_retry() -> None:
    assert refusals.too_many_requests("later", [], 5).headers == {"Retry-After": "5"}
    assert refusals.too_many_requests("later", []).headers == {}


@pytest.mark.parametrize(
    ("resource", "group", "text"), [("pods", "", "pods"), ("jobs", "batch", "jobs.batch")]
)
def test_names_of_resources(resource: str, group: str, text: str) -> None:
    assert refusals.qualified(resource, group) == text
