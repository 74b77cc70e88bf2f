"""Steps of attacks on the API server, and the two servers that run them.

An attacker is a service account with a token, so that both servers authenticate it. Each step has
the response code that kube-apiserver gives; its text must be equal on both servers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import partial
from typing import Any

import msgspec
import urllib3

from tests.support import kubeconfigs
from tests.support.control_plane import ControlPlane
from tests.support.waiting import eventually

Object = dict[str, Any]

JSON = "application/json"
JSON_PATCH = "application/json-patch+json"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"

RBAC = "/apis/rbac.authorization.k8s.io/v1"
_GROUP = "rbac.authorization.k8s.io"
#: The namespaces of the attackers and of their victim.
TENANT, VICTIM = "tenant", "victim"
TENANT_PATH, VICTIM_PATH = f"/api/v1/namespaces/{TENANT}", f"/api/v1/namespaces/{VICTIM}"

SECRETS = f"{TENANT_PATH}/secrets"
TOKEN = f"{TENANT_PATH}/serviceaccounts/{{user}}/token"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
APPROVAL = "api-approved.kubernetes.io"
CUSTOM = "/apis/example.com/v1"
#: The resources of the definitions in the scene.
RESOURCES = (f"{CUSTOM}/wides", f"{CUSTOM}/things")

_CHANGING = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|0x[0-9a-f]+|(?<=-)[a-z0-9]{5}\b"
)


class Step(msgspec.Struct, frozen=True):
    """One request and the code of its response; `{user}` stands for the attacker's name."""

    method: str
    path: str
    code: int
    body: Any = None
    content_type: str = JSON
    headers: Mapping[str, str] = {}
    #: Who sends it: the attacker, "admin", "nobody", or "saved", the account of the last token
    #: in a response.
    sender: str = ""
    #: Whether the message is equal on both servers.
    same_text: bool = True
    #: Whether the code follows a cache of the server, so that the step is repeated for a while.
    repeats: bool = False


class Attack(msgspec.Struct, frozen=True):
    """The rights of an attacker and what it tries."""

    steps: tuple[Step, ...]
    #: Rights in the whole cluster.
    rules: tuple[Object, ...] = ()
    #: Rights in the attacker's namespace.
    inside: tuple[Object, ...] = ()


def rule(group: str, resources: str, verbs: str, names: str = "") -> Object:
    """Return a rule; its parts are separated by spaces."""
    made: Object = {
        "apiGroups": [group],
        "resources": resources.split(),
        "verbs": verbs.split(),
    }
    return made | {"resourceNames": names.split()} if names else made


EVERYTHING = rule("*", "*", "*")


def admin(method: str, path: str, code: int, body: Any = None, **more: Any) -> Step:
    """Return a step of the administrator."""
    return Step(method, path, code, body, sender="admin", **more)


def cluster_role(name: str, *rules: Object, **more: Any) -> Object:
    """Return a ClusterRole."""
    head = {"apiVersion": f"{_GROUP}/v1", "kind": "ClusterRole"}
    return {
        **head,
        "metadata": {"name": name, **more.pop("metadata", {})},
        "rules": [*rules],
    } | more


def role(name: str, *rules: Object) -> Object:
    """Return a Role in the attacker's namespace."""
    return {**cluster_role(name, *rules), "kind": "Role"}


def binding(kind: str, name: str, target: str, *, target_kind: str = "ClusterRole") -> Object:
    """Return a RoleBinding or ClusterRoleBinding to the attacker, in any of its kinds."""
    return {
        "apiVersion": f"{_GROUP}/v1",
        "kind": kind,
        "metadata": {"name": name},
        "roleRef": {"apiGroup": _GROUP, "kind": target_kind, "name": target},
        "subjects": [{"kind": "ServiceAccount", "name": "{user}", "namespace": TENANT}],
    }


def definition(
    plural: str, group: str, approval: str | None = None, *, scope: str = "Namespaced"
) -> Object:
    """Return a definition, with an approval of the Kubernetes community or without."""
    metadata: Object = {"name": f"{plural}.{group}"}
    if approval is not None:
        metadata["annotations"] = {APPROVAL: approval}
    version: Object = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {
            "openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        },
        "subresources": {"status": {}},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": metadata,
        "spec": {
            "group": group,
            "scope": scope,
            "names": {"plural": plural, "kind": plural.capitalize()},
            "versions": [version],
        },
    }


class Outcome(msgspec.Struct, frozen=True):
    """A response: its code, and the text of a refusal without what changes from run to run."""

    code: int
    text: str
    token: str = ""
    allowed: bool = False


def outcome(code: int, body: bytes) -> Outcome:
    """Return the outcome of a response."""
    try:
        found = msgspec.json.decode(body)
    except msgspec.DecodeError:
        found = {}
    if not isinstance(found, dict):
        return Outcome(code, "")
    text = _CHANGING.sub("X", str(found.get("message", ""))) if code >= 300 else ""
    status = found.get("status")
    if not isinstance(status, dict):
        return Outcome(code, text)
    return Outcome(code, text, status.get("token", ""), status.get("allowed", False))


def filled(value: Any, user: str) -> Any:
    """Return a value with the attacker's name in place of `{user}`."""
    return json.loads(json.dumps(value).replace("{user}", user))


def scene(attacks: Mapping[str, Attack]) -> list[tuple[str, Object]]:
    """Return the paths and objects that exist before the attacks."""
    made: list[tuple[str, Object]] = []
    for name in (TENANT, VICTIM):
        made.append(("/api/v1/namespaces", {"metadata": {"name": name}}))
        for secret in ("mine", "other"):
            path = f"/api/v1/namespaces/{name}/secrets"
            made.append((path, {"metadata": {"name": secret}, "data": {}}))
    for plural, scope in (("wides", "Cluster"), ("things", "Namespaced")):
        made.append((DEFINITIONS, definition(plural, "example.com", scope=scope)))
    for user, attack in named(attacks).items():
        made.append((f"{TENANT_PATH}/serviceaccounts", {"metadata": {"name": user}}))
        # Tells when the server's authorizer knows the rights.
        mark = {"nonResourceURLs": [f"/mark/{user}"], "verbs": ["get"]}
        rules = filled(attack.rules, user)
        made.append((f"{RBAC}/clusterroles", cluster_role(user, *rules, mark)))
        bound = filled(binding("ClusterRoleBinding", user, user), user)
        made.append((f"{RBAC}/clusterrolebindings", bound))
        where = f"{RBAC}/namespaces/{TENANT}"
        if attack.inside:
            inside = [*filled(attack.inside, user), rule("mark", user, "get")]
            made.append((f"{where}/roles", role(user, *inside)))
            bound = filled(binding("RoleBinding", user, user, target_kind="Role"), user)
            made.append((f"{where}/rolebindings", bound))
    return [(path, _typed(path, obj)) for path, obj in made]


_KINDS = {"namespaces": "Namespace", "secrets": "Secret", "serviceaccounts": "ServiceAccount"}


def _typed(path: str, obj: Object) -> Object:
    kind = _KINDS.get(path.rpartition("/")[2])
    return {"apiVersion": "v1", "kind": kind, **obj} if kind else obj


def named(attacks: Mapping[str, Attack]) -> dict[str, Attack]:
    """Return the attacks by the names of their service accounts."""
    return {f"u{i:03}": attack for i, attack in enumerate(attacks.values())}


class Side:
    """An API server, real or local, and what it answered to attacks."""

    def __init__(self, plane: ControlPlane, attacks: Mapping[str, Attack]) -> None:
        self._plane = plane
        self._attacks = attacks
        self._users = dict(zip(attacks, named(attacks), strict=True))
        self._outcomes: dict[str, list[Outcome]] = {}
        self._tokens: dict[str, str] = {}
        self._pool = urllib3.PoolManager(ca_certs=str(plane.certificate_authority))
        for path, obj in scene(attacks):
            made = self._send(admin("POST", path, 201, obj), "", "")
            assert made.code == 201, (path, obj, made)
        for path in RESOURCES:
            step = admin("GET", path, 200)
            eventually(partial(self._is_there, step), path)
        self._tokens = {user: self._token(user) for user in self._users.values()}
        for user in self._users.values():
            self._wait_for_rights(user)

    def close(self) -> None:
        """End the connections."""
        self._pool.clear()

    def _is_there(self, step: Step) -> bool:
        return self._send(step, "", "").code == 200

    def _token(self, user: str) -> str:
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        return self._send(admin("POST", TOKEN, 201, body), user, "").token

    def _wait_for_rights(self, user: str) -> None:
        """Wait until the authorizer, which reads from a cache, knows the rights of a user."""
        attack = named(self._attacks)[user]
        asked: list[Object] = [{"nonResourceAttributes": {"path": f"/mark/{user}", "verb": "get"}}]
        if attack.inside:
            mark = {"group": "mark", "resource": user, "verb": "get", "namespace": TENANT}
            asked.append({"resourceAttributes": mark})
        version = "authorization.k8s.io/v1"
        account = f"system:serviceaccount:{TENANT}:{user}"
        for attributes in asked:
            review = {"apiVersion": version, "kind": "SubjectAccessReview"}
            review |= {"spec": {**attributes, "user": account}}
            step = admin("POST", f"/apis/{version}/subjectaccessreviews", 201, review)
            eventually(partial(self._is_allowed, step), f"the rights of {user}")

    def _is_allowed(self, step: Step) -> bool:
        return self._send(step, "", "").allowed

    def with_certificate(self, user: str, groups: tuple[str, ...], token: str) -> Object:
        """Return the user for which the server takes a certificate with a token besides."""
        _, pair = kubeconfigs.read(self._plane.kubeconfig(user, groups))
        pool = urllib3.PoolManager(
            ca_certs=str(self._plane.certificate_authority),
            cert_file=pair["client-certificate"],
            key_file=pair["client-key"],
        )
        tokens = {"admin": self._plane.access.token, "invalid": "a.b.c"}
        bearer = {"Authorization": f"Bearer {tokens[token]}"} if token else {}
        version = "authentication.k8s.io/v1"
        response = pool.request(
            "POST",
            f"{self._plane.url}/apis/{version}/selfsubjectreviews",
            headers={"Content-Type": JSON, **bearer},
            body=json.dumps({"apiVersion": version, "kind": "SelfSubjectReview"}),
        )
        pool.clear()
        found = msgspec.json.decode(response.data)
        if response.status != 201:
            return {"message": found["message"]}
        info = found["status"]["userInfo"]
        return {"username": info["username"], "groups": info["groups"]}

    def outcomes(self, name: str) -> list[Outcome]:
        """Return the outcomes of the steps of an attack, which runs once."""
        if name not in self._outcomes:
            user, saved, found = self._users[name], "", []
            for step in self._attacks[name].steps:
                one = self._sent(step, user, saved)
                saved = one.token or saved
                found.append(one)
            self._outcomes[name] = found
        return self._outcomes[name]

    def _sent(self, step: Step, user: str, saved: str) -> Outcome:
        sent: list[Outcome] = []

        def is_expected() -> bool:
            sent.append(self._send(step, user, saved))
            return not step.repeats or sent[-1].code == step.code

        eventually(is_expected, f"{step.method} {step.path}")
        return sent[-1]

    def _send(self, step: Step, user: str, saved: str) -> Outcome:
        body = step.body
        if body is not None and not isinstance(body, str):
            body = json.dumps(body)
        headers = {"Content-Type": step.content_type, "User-Agent": "attack/1"}
        tokens = {"admin": self._plane.access.token, "": self._tokens.get(user), "saved": saved}
        if token := tokens.get(step.sender):
            headers["Authorization"] = f"Bearer {token}"
        response = self._pool.connection_from_url(self._plane.url).urlopen(
            step.method,
            step.path.replace("{user}", user),
            body=body.replace("{user}", user).encode() if body else None,
            headers=headers
            | {name: one.replace("{user}", user) for name, one in step.headers.items()},
            redirect=False,
            timeout=30,
        )
        return outcome(response.status, response.data)
