"""A scheduler extender: a webhook with the verbs filter, prioritize, preempt and bind.

Usage: python webhook.py [--port 10262]

The webhook refuses nodes under maintenance, prefers cheaper nodes, never preempts pods with the
label example.com/keep=true, and binds pods with kubectl. It prints each call.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

MAINTENANCE = "example.com/maintenance"
PRICE = "example.com/price"
KEEP = "example.com/keep"

#: The highest score that an extender can give to a node.
BEST = 10


def labels(thing: dict[str, Any]) -> dict[str, str]:
    return thing["metadata"].get("labels", {})


def filter_nodes(asked: dict[str, Any]) -> dict[str, Any]:
    nodes = asked["Nodes"]["items"]
    closed = [node for node in nodes if labels(node).get(MAINTENANCE) == "true"]
    return {
        "Nodes": {"items": [node for node in nodes if node not in closed]},
        "FailedNodes": {
            node["metadata"]["name"]: "node(s) were under maintenance" for node in closed
        },
    }


def prioritize(asked: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {
            "Host": node["metadata"]["name"],
            "Score": max(0, BEST - int(labels(node).get(PRICE, BEST))),
        }
        for node in asked["Nodes"]["items"]
    ]


def preempt(asked: dict[str, Any]) -> dict[str, Any]:
    answer = {}
    for node, victims in asked["NodeNameToVictims"].items():
        pods = victims["Pods"]
        if not any(labels(pod).get(KEEP) == "true" for pod in pods):
            answer[node] = {
                "Pods": [{"UID": pod["metadata"]["uid"]} for pod in pods],
                "NumPDBViolations": victims["NumPDBViolations"],
            }
    return {"NodeNameToMetaVictims": answer}


def bind(asked: dict[str, Any]) -> dict[str, Any]:
    name, namespace = asked["PodName"], asked["PodNamespace"]
    binding = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": name, "namespace": namespace, "uid": asked["PodUID"]},
        "target": {"apiVersion": "v1", "kind": "Node", "name": asked["Node"]},
    }
    path = f"/api/v1/namespaces/{namespace}/pods/{name}/binding"
    ended = subprocess.run(
        ["kubectl", "create", "--raw", path, "-f", "-"],
        input=json.dumps(binding),
        capture_output=True,
        text=True,
    )
    return {"Error": ended.stderr.strip() if ended.returncode else ""}


VERBS = {
    "/scheduler/filter": filter_nodes,
    "/scheduler/prioritize": prioritize,
    "/scheduler/preempt": preempt,
    "/scheduler/bind": bind,
}


class Webhook(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        verb = VERBS.get(self.path)
        if verb is None:
            self.send_error(404)
            return
        answer = verb(asked)
        pod = asked["PodName"] if verb is bind else asked["Pod"]["metadata"]["name"]
        print(f"{verb.__name__} {pod}: {summary(answer)}", flush=True)
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Log nothing: `do_POST` prints each call."""


def summary(answer: Any) -> str:
    if isinstance(answer, list):
        return ", ".join(f"{one['Host']} {one['Score']}" for one in answer)
    if "Nodes" in answer:
        passed = [node["metadata"]["name"] for node in answer["Nodes"]["items"]]
        return f"passed {passed}, refused {list(answer['FailedNodes'])}"
    if "NodeNameToMetaVictims" in answer:
        return f"may make room on {sorted(answer['NodeNameToMetaVictims'])}"
    return answer["Error"] or "done"


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=10262)
    ThreadingHTTPServer(("127.0.0.1", parser.parse_args().port), Webhook).serve_forever()
