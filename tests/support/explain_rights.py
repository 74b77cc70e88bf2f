"""Users with different rights, and what each may read of the explanations.

A pod wants a host port that a pod of another namespace has, on nodes that a plugin names in its
reason. So names of nodes and of another pod stand in fields, in messages and in what plugins say.
"""

from __future__ import annotations

from typing import Any

import msgspec

Object = dict[str, Any]

NODES = ("blue-1.example.com", "blue-2.example.com")
POD, HOLDER = "web", "holder"
QUEUE, DECISIONS = "/explain/v1/queue", "/explain/v1/decisions?since=0"

#: A plugin whose reason has the name of a node.
PLUGIN = """
from mooring import Plugin, Status

class NamesNodes(Plugin):
    def filter(self, state, pod, node):
        if node.name.startswith("blue-2"):
            return Status.unschedulable(f"not on {node.name}, as ({node.name}) says")
"""

_RBAC = "rbac.authorization.k8s.io"


class Sight(msgspec.Struct, frozen=True):
    """What a user gets: the status of each path, and which names the pod's explanation has."""

    pod: int
    #: The status of the explanation of a pod in another namespace.
    other: int = 403
    #: The status of the queue and the stream of decisions.
    everything: int = 403
    nodes: bool = False
    holder: bool = False


#: The users, what they may do, and what they see. A rule without a namespace holds in all.
USERS: dict[str, tuple[list[Object], Sight]] = {
    "auditor": (
        [{"nonResourceURLs": ["/explain/*"], "verbs": ["get"]}],
        Sight(200, 200, 200, nodes=True, holder=True),
    ),
    "wrong-verb": ([{"nonResourceURLs": ["/explain/*"], "verbs": ["post", "list"]}], Sight(403)),
    "queue-only": (
        [{"nonResourceURLs": ["/explain/v1/queue"], "verbs": ["get"]}],
        Sight(403, 403, 200),
    ),
    "owner": (
        [{"apiGroups": [""], "resources": ["pods"], "resourceNames": [POD], "verbs": ["get"]}],
        Sight(200),
    ),
    "owner-of-both": (
        [
            {
                "apiGroups": [""],
                "resources": ["pods"],
                "resourceNames": [POD, HOLDER],
                "verbs": ["get"],
            },
            {"apiGroups": [""], "resources": ["nodes"], "verbs": ["list"]},
        ],
        Sight(200, 200, nodes=True, holder=True),
    ),
    "reader": (
        [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}],
        Sight(200, 200),
    ),
    "node-reader": (
        [
            {
                "apiGroups": [""],
                "resources": ["pods"],
                "resourceNames": [POD],
                "verbs": ["get"],
            },
            {"apiGroups": [""], "resources": ["nodes"], "verbs": ["list"]},
        ],
        Sight(200, nodes=True),
    ),
    "operator": (
        [
            {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]},
            {"apiGroups": [""], "resources": ["nodes"], "verbs": ["list"]},
        ],
        Sight(200, 200, nodes=True, holder=True),
    ),
    "lister": (
        [
            {"apiGroups": [""], "resources": ["pods"], "verbs": ["list", "watch"]},
            {"apiGroups": [""], "resources": ["nodes"], "verbs": ["list", "get"]},
        ],
        Sight(403),
    ),
    "nobody": ([], Sight(403)),
}
#: Users whose rights to pods end at their namespace.
NAMESPACED: dict[str, tuple[list[Object], Sight]] = {
    "developer": ([{"apiGroups": [""], "resources": ["pods"], "verbs": ["*"]}], Sight(200)),
}


def pod_path(namespace: str, name: str) -> str:
    """Return the path of a pod's explanation."""
    return f"/explain/v1/namespaces/{namespace}/pods/{name}"


def rights(namespace: str) -> list[Object]:
    """Return the users, as service accounts of a namespace, with their roles."""
    found: list[Object] = []
    for user, (rules, _) in (*USERS.items(), *NAMESPACED.items()):
        prefix = "" if user in NAMESPACED else "Cluster"
        name = user if user in NAMESPACED else f"{namespace}-{user}"
        head = {"apiVersion": f"{_RBAC}/v1", "metadata": {"name": name}}
        found.append({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": user}})
        found.append({**head, "kind": f"{prefix}Role", "rules": rules})
        reference = {"apiGroup": _RBAC, "kind": f"{prefix}Role", "name": name}
        subject = {"kind": "ServiceAccount", "name": user, "namespace": namespace}
        found.append(
            {**head, "kind": f"{prefix}RoleBinding", "roleRef": reference, "subjects": [subject]}
        )
    return found


def scene(other: str) -> list[Object]:
    """Return the nodes and the pods; `other` is the namespace of the pod that has the port."""
    room = {"cpu": "4", "memory": "8Gi", "pods": "10"}
    nodes: list[Object] = [
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name},
            "status": {"capacity": room, "allocatable": room},
        }
        for name in NODES
    ]
    holder = pod(HOLDER, nodeName=NODES[0])
    holder["metadata"]["namespace"] = other
    return [*nodes, holder, pod(POD)]


def pod(name: str, **spec: Any) -> Object:
    """Return a pod that wants host port 8080."""
    ports = [{"containerPort": 8080, "hostPort": 8080}]
    containers = [{"name": "c", "image": "i", "ports": ports}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"containers": containers, **spec},
    }


def check_sight(sight: Sight, status: int, text: str, holder: str) -> None:
    """Check what a user gets for the pod; `holder` is "namespace/name" of the other pod."""
    assert status == sight.pod
    if status != 200:
        assert msgspec.json.decode(text)["kind"] == "Status"
        assert not any(node in text for node in NODES) and holder not in text
        return
    data = msgspec.json.decode(text)
    assert data["limited"] == (not sight.nodes)
    assert any(node in text for node in NODES) == sight.nodes
    assert (holder in text) == sight.holder
    shown = NODES if sight.nodes else ("node 1", "node 2")
    assert f"not on {shown[1]}, as ({shown[1]}) says" in data["message"]
    assert tuple(data["nodes"]) == (NODES if sight.nodes else ())
    example = {one["plugin"]: one for one in data["whyNot"]}["NodePorts"]["example"]
    text = f"host port 8080/TCP is taken by {holder if sight.holder else 'another pod'}"
    expected = (NODES[0], text) if sight.nodes else ("", "")
    assert (example["node"], example["text"]) == expected
