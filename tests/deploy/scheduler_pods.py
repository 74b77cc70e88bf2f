"""The pod of a Deployment as a process here: its files, its account, its command line."""

from __future__ import annotations

import multiprocessing
from contextlib import suppress
from pathlib import Path

import requests
import urllib3

from tests.deploy import child
from tests.live.running import eventually
from tests.support.api import Api, Object
from tests.support.control_plane import ControlPlane
from tests.support.processes import LOOPBACK, free_port
from tests.support.waiting import PATIENCE

ACCOUNT_FOLDER = "var/run/secrets/kubernetes.io/serviceaccount"

# A process takes a second to import everything, and a moment to fork from one that has.
_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(child.PRELOAD)


class SchedulerPod:
    """One pod of a Deployment, run as its kubelet would run it, but for the container."""

    def __init__(
        self, folder: Path, deployment: Object, config_maps: list[Object], plane: ControlPlane
    ) -> None:
        self.port = free_port()
        self.folder = folder
        self.spec: Object = deployment["spec"]["template"]["spec"]
        self.namespace: str = deployment["metadata"]["namespace"]
        self.command = self._command_line()
        self._lay_out({one["metadata"]["name"]: one["data"] for one in config_maps}, plane)
        host, port = plane.url.removeprefix("https://").split(":")
        self.environment = {
            "MOORING_ROOT": str(folder / "root"),
            "KUBERNETES_SERVICE_HOST": host,
            "KUBERNETES_SERVICE_PORT": port,
        }
        self._log = folder / "log"
        self._log.touch()
        arguments = (self.command, self.environment, str(self._log))
        self._process = _FORKS.Process(target=child.run, args=arguments, daemon=True)

    def start(self) -> None:
        """Start the process."""
        self._process.start()

    def stop(self) -> int | None:
        """Ask the process to leave, make it leave if it does not, and return its exit status."""
        self._process.terminate()
        self._process.join(10)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
        return self._process.exitcode

    @property
    def runs(self) -> bool:
        """Tell whether the process runs."""
        return self._process.is_alive()

    def log(self) -> str:
        """Return all that the process wrote, without the quotes around quotes."""
        return self._log.read_text(encoding="utf-8", errors="replace").replace('\\"', '"')

    def refused_requests(self) -> list[str]:
        """Return the lines of the log about requests for which the scheduler lacks the rights.

        A request is also forbidden in a namespace that is being deleted.
        """
        return [line for line in self.log().splitlines() if "is forbidden: User " in line]

    def wait_logged(self, part: str, start: int = 0, seconds: float = PATIENCE) -> None:
        """Wait until the log contains a text, past a place in it."""
        with suppress(AssertionError):
            eventually(lambda: part in self.log()[start:] or not self.runs, part, seconds)
        log = self.log()[start:]
        assert part in log, log[-3000:]

    def get(self, path: str, token: str = "") -> requests.Response | None:
        """Return what the secure port answers; None where it does not answer."""
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)
        with requests.Session() as session:
            session.trust_env = False
            try:
                url = f"https://{LOOPBACK}:{self.port}{path}"
                return session.get(url, headers=headers, verify=False, timeout=15)
            except requests.RequestException:
                return None

    def status(self, path: str, token: str = "") -> int:
        """Return the status that the secure port answers with; 0 where it does not answer."""
        answer = self.get(path, token)
        return 0 if answer is None else answer.status_code

    def _command_line(self) -> list[str]:
        (container,) = self.spec["containers"]
        local = [f"--secure-port={self.port}", f"--bind-address={LOOPBACK}"]
        return [*container["command"], *container["args"], *local]

    def _lay_out(self, config_maps: dict[str, dict[str, str]], plane: ControlPlane) -> None:
        """Write what the pod's volumes hold to where they are mounted."""
        root = self.folder / "root"
        volumes = {volume["name"]: volume for volume in self.spec["volumes"]}
        (container,) = self.spec["containers"]
        for mount in container["volumeMounts"]:
            place = root / mount["mountPath"].lstrip("/")
            place.mkdir(parents=True)
            source = volumes[mount["name"]].get("configMap")
            for name, text in config_maps[source["name"]].items() if source else ():
                (place / name).write_text(text, encoding="utf-8")
        account = root / ACCOUNT_FOLDER
        account.mkdir(parents=True)
        token = make_token(plane, self.spec["serviceAccountName"], self.namespace)
        (account / "token").write_text(token)
        (account / "namespace").write_text(self.namespace)
        (account / "ca.crt").write_bytes(plane.certificate_authority.read_bytes())


def make_token(plane: ControlPlane, account: str, namespace: str) -> str:
    """Ask for a token of a service account, as a kubelet does."""
    path = f"api/v1/namespaces/{namespace}/serviceaccounts/{account}/token"
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    with Api(plane.access) as api:
        return str(api.request("POST", path, body)["status"]["token"])
