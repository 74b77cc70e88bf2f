"""Token, access and subject reviews."""

# kube-apiserver: pkg/registry/{authentication,authorization}

from __future__ import annotations

from typing import Any

from mooring.api.field_errors import FieldError, invalid
from mooring.apiserver import bodies, refusals
from mooring.apiserver.auth.authentication import Authenticator
from mooring.apiserver.auth.authorization import Attributes, Authorizer
from mooring.apiserver.auth.impersonation import AUTHENTICATED, with_group
from mooring.apiserver.auth.tokens import AUDIENCES
from mooring.apiserver.http import ApiRequest, ApiResponse, RequestUser, answer
from mooring.apiserver.request_paths import RequestInfo
from mooring.apiserver.resource_table import Served
from mooring.apiserver.server_state import ServerState

Object = dict[str, Any]

INVALID_TOKEN = "invalid bearer token"


class Reviews:
    """The handler of reviews, which are answered and not stored."""

    def __init__(
        self, cluster: ServerState, authenticator: Authenticator, authorizer: Authorizer
    ) -> None:
        self._cluster = cluster
        self._authenticator = authenticator
        self._authorizer = authorizer
        self._answers = {
            "tokenreviews": self._token,
            "selfsubjectreviews": self._self,
            "subjectaccessreviews": self._access,
            "localsubjectaccessreviews": self._access,
            "selfsubjectaccessreviews": self._own_access,
            "selfsubjectrulesreviews": self._rules,
        }

    def answers(self, served: Served) -> bool:
        """Return whether a resource is a review."""
        return served.name in self._answers and served.group.startswith("auth")

    def create(self, request: ApiRequest, info: RequestInfo, served: Served) -> ApiResponse:
        """Return a response with the review and its status."""
        how = bodies.options(request)
        review = bodies.read_object(request, served, how)
        review.pop("status", None)
        if info.namespace:
            review["metadata"]["namespace"] = info.namespace
        else:
            review["metadata"].pop("namespace", None)
        review["status"] = self._answers[served.name](request, review, served)
        if served.name == "selfsubjectreviews":
            review["metadata"]["creationTimestamp"] = self._cluster.timestamp()
        response = answer(review, 201)
        response.warnings = how.warnings
        return response

    def _token(self, request: ApiRequest, review: Object, served: Served) -> Object:
        spec = review.get("spec") or {}
        if not spec.get("token"):
            raise refusals.bad_request("token is required for TokenReview in authentication")
        audiences = tuple(spec.get("audiences") or ())
        user = self._authenticator.token_user(spec["token"], audiences)
        if user is None:
            return {"user": {}, "error": INVALID_TOKEN}
        status: Object = {"authenticated": True, "user": _user(with_group(user, AUTHENTICATED))}
        return status | {"audiences": list(audiences or AUDIENCES[:1])}

    def _self(self, request: ApiRequest, review: Object, served: Served) -> Object:
        return {"userInfo": _user(request.user)}

    def _access(self, request: ApiRequest, review: Object, served: Served) -> Object:
        spec = review.get("spec") or {}
        extra = {key: tuple(value) for key, value in (spec.get("extra") or {}).items()}
        user = RequestUser(
            spec.get("user") or "", tuple(spec.get("groups") or ()), spec.get("uid") or "", extra
        )
        problems = []
        if not user.name and not user.groups:
            problems.append(
                invalid("spec.user", "", "at least one of user or group must be specified")
            )
        return self._decide(review, served, user, problems)

    def _own_access(self, request: ApiRequest, review: Object, served: Served) -> Object:
        return self._decide(review, served, request.user, [])

    def _decide(
        self,
        review: Object,
        served: Served,
        user: RequestUser,
        problems: list[FieldError],
    ) -> Object:
        spec = review.get("spec") or {}
        resource, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
        if (resource is None) == (path is None):
            why = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
            problems.append(invalid("spec", None if path is None else {}, why))
        namespace = review["metadata"].get("namespace")
        if served.name == "localsubjectaccessreviews" and resource is not None:
            given = resource.get("namespace", "")
            if given != namespace:
                where = "spec.resourceAttributes.namespace"
                problems.append(invalid(where, given, "must match metadata.namespace"))
        if problems:
            raise refusals.invalid("", served.group, "", problems)
        if resource is not None:
            asked = Attributes(
                user,
                resource.get("verb", ""),
                resource.get("group", ""),
                resource.get("version", ""),
                resource.get("resource", ""),
                resource.get("subresource", ""),
                resource.get("namespace", ""),
                resource.get("name", ""),
            )
        else:
            wanted = path or {}
            asked = Attributes(user, wanted.get("verb", ""), path=wanted.get("path") or "")
        decision = self._authorizer.decide(asked)
        status: Object = {"allowed": decision.allowed}
        return status | {"reason": decision.reason} if decision.reason else status

    def _rules(self, request: ApiRequest, review: Object, served: Served) -> Object:
        namespace = (review.get("spec") or {}).get("namespace") or ""
        if not namespace:
            raise refusals.bad_request("no namespace on request")
        resources, paths = [], []
        for rule in self._authorizer.rules(request.user, namespace):
            if rule.get("nonResourceURLs"):
                paths.append(
                    {key: rule[key] for key in ("verbs", "nonResourceURLs") if key in rule}
                )
            else:
                keys = ("verbs", "apiGroups", "resources", "resourceNames")
                resources.append({key: rule[key] for key in keys if key in rule})
        return {"resourceRules": resources, "nonResourceRules": paths, "incomplete": False}


def _user(user: RequestUser) -> Object:
    result: Object = {"username": user.name}
    if user.uid:
        result["uid"] = user.uid
    if user.groups:
        result["groups"] = list(user.groups)
    if user.extra:
        result["extra"] = {key: list(value) for key, value in user.extra.items()}
    return result
