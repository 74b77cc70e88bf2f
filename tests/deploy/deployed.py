"""What `mooring manifests` prints, applied to an API server, and its rights taken away and back."""

from __future__ import annotations

import contextlib
import io
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import yaml

from mooring.cli.main import main
from tests.deploy.scheduler_pods import SchedulerPod
from tests.live.running import eventually
from tests.support.api import Api, Object
from tests.support.control_plane import ControlPlane

RBAC = "rbac.authorization.k8s.io"


class Right(NamedTuple):
    """One verb on one resource."""

    group: str
    resource: str
    verb: str

    @property
    def words(self) -> str:
        """What the API server says where it is missing, but for the place."""
        return f'cannot {self.verb} resource "{self.resource}" in API group "{self.group}"'


def rights_of(rules: list[Object]) -> dict[Right, Object]:
    """Return every right of some rules, each with the rule that gives nothing else."""
    return {
        Right(group, resource, verb): {
            **rule,
            "apiGroups": [group],
            "resources": [resource],
            "verbs": [verb],
        }
        for rule in rules
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def manifests(*arguments: str) -> list[Object]:
    """Return what `mooring manifests` prints."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        assert main(["manifests", *arguments]) == 0
    return list(yaml.safe_load_all(output.getvalue()))


class Deployed:
    """A scheduler's objects in a cluster."""

    def __init__(
        self, plane: ControlPlane, kubectl: Path, folder: Path, api: Api, found: list[Object]
    ) -> None:
        self.plane = plane
        self.api = api
        self.objects = found
        self.kubectl_program = kubectl
        self._folder = folder
        self._pods = 0
        self.deployment = self.find("Deployment")
        self.name: str = self.deployment["metadata"]["name"]
        self.namespace: str = self.deployment["metadata"]["namespace"]
        self.user = f"system:serviceaccount:{self.namespace}:{self.name}"

    def find(self, kind: str) -> Object:
        """Return the first object of a kind."""
        return next(one for one in self.objects if one["kind"] == kind)

    def find_named(self, kind: str, name: str) -> Object:
        """Return the object of a kind and a name."""
        return next(
            one for one in self.objects if one["kind"] == kind and one["metadata"]["name"] == name
        )

    def kubectl(self, *arguments: str) -> str:
        """Run kubectl as administrator on the manifests; fail where it fails."""
        ended = subprocess.run(
            [self.kubectl_program, f"--kubeconfig={self.plane.admin_kubeconfig}", *arguments],
            input=yaml.safe_dump_all(self.objects),
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert ended.returncode == 0, ended.stderr
        return ended.stdout + ended.stderr

    def pod(self) -> SchedulerPod:
        """Return a pod of the Deployment that is yet to start."""
        self._pods += 1
        folder = self._folder / f"pod-{self._pods}"
        folder.mkdir()
        maps = [one for one in self.objects if one["kind"] == "ConfigMap"]
        return SchedulerPod(folder, self.deployment, maps, self.plane)

    @contextlib.contextmanager
    def started(self) -> Iterator[SchedulerPod]:
        """Run a pod of the Deployment."""
        pod = self.pod()
        pod.start()
        try:
            yield pod
        finally:
            pod.stop()
            # One that is stopped while it asks for the lease leaves it behind.
            self.api.delete("Lease", self.name, self.namespace)

    @contextlib.contextmanager
    def without(self, kind: str, *rights: Right) -> Iterator[None]:
        """Take rights away from the ClusterRole or Role for a while."""
        role = self.find(kind)
        all_of_it = rights_of(role["rules"])
        place = role["metadata"].get("namespace", "")
        self._set(role, [rule for right, rule in all_of_it.items() if right not in rights])
        try:
            for right in rights:
                eventually(lambda right=right: not self._may(right, place), "the right is gone")
            yield
        finally:
            self._set(role, role["rules"])
            for right in rights:
                eventually(lambda right=right: self._may(right, place), "the right is back")

    def _set(self, role: Object, rules: list[Object]) -> None:
        metadata = role["metadata"]
        self.api.patch(role["kind"], metadata["name"], {"rules": rules}, metadata.get("namespace"))

    def _may(self, right: Right, namespace: str) -> bool:
        resource, _, subresource = right.resource.partition("/")
        attributes = {
            "verb": right.verb,
            "group": right.group,
            "resource": resource,
            "subresource": subresource,
            "namespace": namespace,
            # The right to all of them, or to the scheduler's own.
            "name": self.name if right.resource == "leases" and right.verb != "create" else "",
        }
        review = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SubjectAccessReview",
            "spec": {"user": self.user, "resourceAttributes": attributes},
        }
        path = "apis/authorization.k8s.io/v1/subjectaccessreviews"
        return bool(self.api.request("POST", path, review)["status"]["allowed"])
