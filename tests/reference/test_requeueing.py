"""How often a pod is tried that was refused by something that waits for every event.

kube-scheduler registers a plugin without EventsToRegister for all events, and an extender in the
same way; no plugin that is part of kube-scheduler lacks the method, so an extender stands for one.
"""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import yaml

from tests.live.running import configuration
from tests.reference.sides import Side
from tests.support.cluster import Cluster
from tests.support.processes import LOOPBACK
from tests.support.waiting import eventually

PODS = ("first", "second", "third")


@contextmanager
def refusing_extender() -> Iterator[tuple[str, Counter[str]]]:
    """Run an extender that refuses every node; yield its address and the calls by pod."""
    calls: Counter[str] = Counter()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            calls[asked["Pod"]["metadata"]["name"]] += 1
            names = [node["metadata"]["name"] for node in asked["Nodes"]["items"]]
            body = json.dumps({"FailedNodes": dict.fromkeys(names, "no")}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer((LOOPBACK, 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://{LOOPBACK}:{server.server_port}", calls
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def create_node(cluster: Cluster) -> None:
    """Create a node with room for every pod."""
    node = {"allocatable": {"cpu": "4", "memory": "4Gi", "pods": "9"}}
    made = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node"}}
    cluster.create({**made, "status": node})


def attempts(side: Side, cluster: Cluster, folder: Path) -> dict[str, int]:
    """Create pods one after the other; return how often each was tried once the last has rested."""
    with refusing_extender() as (url, calls):
        file = folder / f"{side.name}.yaml"
        extender = {"urlPrefix": url, "filterVerb": "filter", "enableHTTPS": False}
        settings = configuration(cluster.plane.scheduler_kubeconfig, extenders=[extender])
        file.write_text(yaml.safe_dump(settings))
        running = side.start(cluster.plane, folder, [f"--config={file}"])
        try:
            for name in PODS:
                spec = {"containers": [{"name": "c", "image": "i"}]}
                pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}
                cluster.create(pod)
                # The second attempt follows from the pod's own condition, which the first writes.
                eventually(lambda name=name: calls[name] >= 2, f"{name} is tried twice")
            return dict(calls)
        finally:
            running.stop()
            for name in PODS:
                cluster.api.delete("Pod", name, cluster.namespace)


@pytest.mark.filterwarnings("ignore::urllib3.exceptions.InsecureRequestWarning")
def test_a_refused_pod_is_tried_again_when_its_own_condition_is_written(
    sides: tuple[Side, Side], cluster: Cluster, tmp_path: Path
) -> None:
    # Before the schedulers start: if they saw the node after a pod, the pod would be tried again.
    create_node(cluster)
    reference, ours = (attempts(side, cluster, tmp_path) for side in sides)
    assert ours == reference == dict.fromkeys(PODS, 2)
