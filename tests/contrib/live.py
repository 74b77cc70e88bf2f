"""Local clusters in the process of a test that serve the custom resources of scheduler-plugins."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import yaml

from mooring.api import POD_GROUP_LABEL
from tests.contrib.profiles import configuration
from tests.local.clusters import Reader, manifests, plan, running

GROUP = "scheduling.x-k8s.io"
PODS = "/api/v1/namespaces/{}/pods"


def pod_group(name: str, members: int, **spec: Any) -> dict[str, Any]:
    """Return a PodGroup."""
    return {
        "apiVersion": f"{GROUP}/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"minMember": members, **spec},
    }


def elastic_quota(namespace: str, low: str, high: str) -> dict[str, Any]:
    """Return an ElasticQuota of cpu."""
    return {
        "apiVersion": f"{GROUP}/v1alpha1",
        "kind": "ElasticQuota",
        "metadata": {"name": "quota", "namespace": namespace},
        "spec": {"min": {"cpu": low}, "max": {"cpu": high}},
    }


def worker(name: str, group: str = "", namespace: str = "default", **spec: Any) -> dict[str, Any]:
    """Return a pod that requests one cpu, a member of a group if one is named."""
    resources = {"requests": {"cpu": "1"}}
    labels = {POD_GROUP_LABEL: group} if group else {}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
        "spec": {
            "containers": [{"name": "main", "image": "app", "resources": resources}],
            "terminationGracePeriodSeconds": 0,
            **spec,
        },
    }


def node(name: str, cpu: int) -> dict[str, Any]:
    """Return a fake node."""
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "annotations": {"kwok.x-k8s.io/node": "fake"}},
        "status": {"allocatable": {"cpu": str(cpu), "memory": "64Gi", "pods": "110"}},
    }


@asynccontextmanager
async def cluster(
    folder: Path,
    *objects: dict[str, Any],
    plugins: list[str],
    disabled: list[str],
    **args: Any,
) -> AsyncIterator[Reader]:
    """Run a cluster whose scheduler runs plugins."""
    config = folder / "config.yaml"
    config.write_text(yaml.safe_dump(configuration(*plugins, disabled=disabled, args=args)))
    text = yaml.safe_dump_all(objects)
    async with running(folder, objects=manifests(text), plan=plan(config)) as reader:
        yield reader
