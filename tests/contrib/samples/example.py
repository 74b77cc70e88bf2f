"""The example directories of the sample plugins, as the tests read them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from mooring import Plugin
from mooring.api import KubeObject, Node, Pod, read_manifests
from mooring.config import load_config
from mooring.controlplane.default_values import set_defaults
from mooring.registry import default_registry
from mooring.virtual.memory_scheduler import MemoryScheduler

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"


class Example:
    """One example directory: its nodes, its pod, its configuration."""

    def __init__(self, name: str) -> None:
        folder = EXAMPLES / name
        self.config = folder / "scheduler-config.yaml"
        objects: list[KubeObject] = []
        for path in sorted(folder.glob("*.yaml")):
            if path != self.config:
                objects += [obj for obj, _ in read_manifests(path.read_text(), str(path))]
        whole = set_defaults(objects)
        self.nodes = [obj for obj in whole if isinstance(obj, Node)]
        (self.pod,) = [obj for obj in whole if isinstance(obj, Pod)]

    def scheduler(self, plugin: type[Plugin]) -> MemoryScheduler:
        """Return a scheduler for the example's cluster with its configuration."""
        registry = default_registry([plugin])
        config = load_config(self.config, registry=registry)
        return MemoryScheduler([*self.nodes, self.pod], config=config, registry=registry)


def with_labels(node: Node, **labels: str) -> Node:
    """Return the node with these labels added, as by `kubectl label nodes`."""
    return replace(node, metadata=replace(node.metadata, labels={**node.metadata.labels, **labels}))


def messages(caplog: pytest.LogCaptureFixture, wanted: Callable[[str], bool]) -> list[str]:
    """Return the log lines of a test that `wanted` accepts."""
    return [record.getMessage() for record in caplog.records if wanted(record.getMessage())]
