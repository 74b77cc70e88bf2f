"""The webhook of examples/extender, as a process beside a cluster."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

from tests.support.local_up import Up
from tests.support.processes import LOOPBACK, Process
from tests.support.waiting import PATIENCE

#: The port in the files of tutorial 002 and of the example.
TUTORIAL_PORT = "10262"


def with_port(text: str, port: int) -> str:
    """Return a configuration with the port of a webhook of the test."""
    assert TUTORIAL_PORT in text
    return text.replace(TUTORIAL_PORT, str(port))


def start_webhook(cluster: Up, kubectl: Path, port: int) -> Process:
    """Start the webhook in the workplace, and wait until it listens."""
    path = os.pathsep.join([str(kubectl.parent), os.environ["PATH"]])
    webhook = cluster.start(
        [sys.executable, "webhook.py", f"--port={port}"],
        "webhook",
        {**cluster.kubectl.environment, "PATH": path},
    )

    def listens() -> bool:
        with socket.socket() as client:
            return client.connect_ex((LOOPBACK, port)) == 0

    webhook.wait_until(listens, seconds=PATIENCE)
    return webhook
