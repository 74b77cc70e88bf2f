"""Bad input and failures around a scheduler: one clear line and an exit, or retries."""

from __future__ import annotations

import datetime
import logging
import re
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from mooring.cli.main import main
from tests.live.running import (
    QUICK_ELECTION,
    Mooring,
    condition,
    configuration,
    is_bound,
    node,
    pod,
)
from tests.support.api import Api, Object
from tests.support.cluster import Cluster, turn_on
from tests.support.control_plane import ControlPlane, GivenCluster
from tests.support.processes import LOOPBACK, free_port
from tests.support.waiting import eventually

# Mistakes on the command line and in files: no request is ever sent.

NOWHERE = "https://127.0.0.1:1"
PLUGINS = """
from mooring import Plugin

class RaisesAtInit(Plugin):
    def __init__(self, args=None, handle=None):
        raise ValueError("no luck")
    def filter(self, state, pod, node): ...

class RaisesAtStart(Plugin):
    def start(self):
        raise ValueError("no luck")
    def filter(self, state, pod, node): ...

class Misspelt(Plugin):
    def filer(self, state, pod, node): ...

class NoPlugin: ...
"""


def kubeconfig(
    cluster: Object | None = None, user: Object | None = None, context: str = "a"
) -> str:
    """Return the text of a kubeconfig."""
    return yaml.safe_dump(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "a", "cluster": {"server": NOWHERE, **(cluster or {})}}],
            "users": [{"name": "a", "user": user or {}}],
            "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],
            "current-context": context,
        }
    )


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder that the command runs in."""
    monkeypatch.chdir(tmp_path)
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture
def refuse(folder: Path, capfd: pytest.CaptureFixture[str]) -> Iterator[Callable[..., str]]:
    """Yield a function that runs a command line, which must fail, and returns its one line."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level

    def give_up(*_: object) -> None:
        raise TimeoutError("it did not fail, it runs")

    def run(*flags: str) -> str:
        signal.signal(signal.SIGALRM, give_up)
        signal.alarm(30)
        assert main(["run", "--leader-elect=false", *flags]) == 1
        signal.alarm(0)
        lines = capfd.readouterr().err.splitlines()
        (line,) = [line for line in lines if not line.startswith("W")]
        assert "Traceback" not in line
        return line

    yield run
    signal.alarm(0)
    root.handlers[:] = handlers
    root.setLevel(level)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param(None, "k: cannot read the kubeconfig: No such file", id="it is not there"),
        pytest.param("a: [b", "k:2:1: not valid YAML: ", id="it is no YAML"),
        pytest.param("a: b", "k: invalid configuration: no config", id="it is something else"),
        pytest.param(kubeconfig(context="b"), 'context \\"b\\" does not exist', id="no context"),
        pytest.param(
            kubeconfig(user={"client-certificate": "no.crt", "client-key": "no.key"}),
            "client-certificate of a: cannot read ",
            id="its certificate is not there",
        ),
        pytest.param(
            kubeconfig(user={"client-certificate-data": "@", "client-key": "no.key"}),
            "users[0].user.client-certificate-data: must be base64 text",
            id="its certificate is no base64",
        ),
        pytest.param(
            kubeconfig({"certificate-authority": "no.crt"}),
            "certificate-authority of a: cannot read ",
            id="its authority is not there",
        ),
        pytest.param(
            kubeconfig({"server": "127.0.0.1:99999999"}),
            "server must be a URL or a valid host:port pair",
            id="its server is no address",
        ),
    ],
)
def test_a_broken_kubeconfig(
    folder: Path, refuse: Callable[..., str], text: str | None, message: str
) -> None:
    if text is not None:
        (folder / "k").write_text(text)
    line = refuse("--kubeconfig=k")
    assert '"command failed" err="' in line
    assert message in line


def test_no_kubeconfig_at_all(refuse: Callable[..., str]) -> None:
    assert "name a kubeconfig with --kubeconfig or $KUBECONFIG" in refuse()


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        pytest.param("no.py:A", "plugin no.py: no such file", id="no file"),
        pytest.param("p.py", "expected one plugin in the file, found", id="several in a file"),
        pytest.param("p.py:A", "p.py has no A; its plugins: ", id="no such class"),
        pytest.param(
            "p.py:NoPlugin", "expected a class derived from mooring.Plugin", id="no plugin"
        ),
        pytest.param("p.py:Misspelt", "`filer`: did you mean `filter`?", id="a misspelt point"),
        pytest.param(
            "p.py:RaisesAtInit",
            "plugin RaisesAtInit: initializing: ValueError: no luck",
            id="it raises when it is made",
        ),
        pytest.param(
            "p.py:RaisesAtStart",
            "plugin RaisesAtStart: start: ValueError: no luck",
            id="it raises when it starts",
        ),
        pytest.param("syntax.py:A", "syntax.py:1:7: invalid syntax", id="no Python"),
        pytest.param("imports.py:A", "imports.py does not load: ModuleNotFound", id="an import"),
    ],
)
def test_a_plugin_that_does_not_load(
    folder: Path, refuse: Callable[..., str], reference: str, message: str
) -> None:
    (folder / "k").write_text(kubeconfig())
    (folder / "p.py").write_text(PLUGINS)
    (folder / "syntax.py").write_text("def x(:")
    (folder / "imports.py").write_text("import no_such_module_anywhere")
    assert message in refuse("--kubeconfig=k", f"--plugin={reference}")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param(None, "c.yaml: No such file", id="it is not there"),
        pytest.param("parallelism: [", "c.yaml:2:1: not valid YAML", id="it is no YAML"),
        pytest.param("parallelisms: 3", "c.yaml:3:1: ", id="an unknown field"),
        pytest.param("parallelism: much", "c.yaml:3:14: ", id="a wrong type"),
        pytest.param("parallelism: -1", "c.yaml:3:14: ", id="a wrong value"),
        pytest.param(
            "profiles: [{plugins: {filter: {enabled: [{name: Nope}]}}}]",
            "c.yaml:3:49: ",
            id="an unknown plugin",
        ),
    ],
)
def test_a_mistake_in_the_configuration(
    folder: Path, refuse: Callable[..., str], text: str | None, message: str
) -> None:
    if text is not None:
        head = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        (folder / "c.yaml").write_text(text if text.endswith("[") else head + text)
    assert message in refuse("--config=c.yaml")


def test_a_port_in_use(folder: Path, refuse: Callable[..., str]) -> None:
    (folder / "k").write_text(kubeconfig())
    with socket.create_server((LOOPBACK, 0)) as taken:
        port = taken.getsockname()[1]
        line = refuse("--kubeconfig=k", f"--bind-address={LOOPBACK}", f"--secure-port={port}")
    address = f"{LOOPBACK}:{port}"
    assert (
        f"failed to create listener: failed to listen on {address}: "
        f"listen tcp {address}: bind: address already in use"
    ) in line


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--tls-cert-file=no.crt", "--tls-private-key-file=no.key"], "open no.crt: no such file"),
        (
            ["--authentication-kubeconfig=no"],
            "failed to get delegated authentication kubeconfig: no",
        ),
        (["--authorization-kubeconfig=no"], "failed to get delegated authorization kubeconfig: no"),
    ],
    ids=["certificate", "authentication", "authorization"],
)
def test_files_for_serving_that_are_not_there(
    folder: Path, refuse: Callable[..., str], flags: list[str], message: str
) -> None:
    (folder / "k").write_text(kubeconfig())
    assert message in refuse("--kubeconfig=k", f"--secure-port={free_port()}", *flags)


# Servers that cannot be reached, or refuse: the scheduler keeps retrying.


class Forwarder:
    """A forwarder of a port's connections to a server, from the moment it is made."""

    def __init__(self, port: int, target: int) -> None:
        self._target = target
        self._listener = socket.create_server((LOOPBACK, port))
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            far = socket.create_connection((LOOPBACK, self._target))
            for source, sink in ((near, far), (far, near)):
                threading.Thread(target=self._copy, args=(source, sink), daemon=True).start()

    @staticmethod
    def _copy(source: socket.socket, sink: socket.socket) -> None:
        try:
            while data := source.recv(65536):
                sink.sendall(data)
        except OSError:
            pass
        finally:
            for end in (source, sink):
                end.close()

    def close(self) -> None:
        """Accept no more connections."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()


@pytest.fixture
def started(control_plane: ControlPlane | GivenCluster) -> ControlPlane:
    """Return the control plane if this run started it; otherwise skip the test."""
    if not isinstance(control_plane, ControlPlane):
        pytest.skip("the cluster is a given one")
    return control_plane


def test_a_server_that_cannot_be_reached_is_asked_again(
    started: ControlPlane, tmp_path: Path
) -> None:
    port = free_port()
    file = started.kubeconfig("system:kube-scheduler", server=f"https://{LOOPBACK}:{port}")
    mooring = Mooring(tmp_path, configuration(file), "--v=2")
    try:
        line = mooring.wait_logged('type="*v1.Node"')
        url = f"https://{LOOPBACK}:{port}/api/v1/nodes"
        assert f'"Failed to watch" err="GET {url}: connection refused"' in line
        mooring.wait_logged('Watch-list failed - backing off" type="*v1.Node"')
        assert mooring.get("/livez") == 200
        assert mooring.get("/readyz") == 500
        forwarder = Forwarder(port, int(started.url.rpartition(":")[2]))
        try:
            mooring.wait_ready()
        finally:
            forwarder.close()
    finally:
        status = mooring.process.stop()
    assert status == 1
    assert '"command failed" err="finished without leader elect"' in mooring.process.tail(300)


def test_an_expired_certificate_is_named_and_the_process_goes_on(
    started: ControlPlane, tmp_path: Path
) -> None:
    yesterday = datetime.datetime.now(datetime.UTC) - datetime.timedelta(days=1)
    file = started.kubeconfig("system:kube-scheduler", expires=yesterday)
    mooring = Mooring(tmp_path, configuration(file), "--v=2")
    try:
        line = mooring.wait_logged('type="*v1.Node"')
        assert '"Failed to watch" err="GET ' in line
        expired = yesterday.strftime("%Y-%m-%dT%H:%M:%SZ")
        assert re.search(rf"Unauthorized; the client certificate \S+ expired at {expired}", line)
        eventually(lambda: len(mooring.lines('type="*v1.Node"')) > 1, "another attempt")
        assert mooring.get("/readyz") == 500
    finally:
        mooring.process.stop()


LEASE_REFUSED = '"Error retrieving lease lock" err="leases.coordination.k8s.io'


class Rights:
    """A user with the rights of system:kube-scheduler, which can be removed one by one."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.user = f"scheduler-of-{cluster.namespace}"
        self._rules = [
            rule
            for role in ("system:kube-scheduler", "system:volume-scheduler")
            for rule in cluster.api.get("ClusterRole", role)["rules"]
        ]
        rbac = {"apiVersion": "rbac.authorization.k8s.io/v1", "metadata": {"name": self.user}}
        cluster.create({**rbac, "kind": "ClusterRole", "rules": []})
        user = {"kind": "User", "name": self.user, "apiGroup": "rbac.authorization.k8s.io"}
        role = {"kind": "ClusterRole", "name": self.user, "apiGroup": "rbac.authorization.k8s.io"}
        cluster.create({**rbac, "kind": "ClusterRoleBinding", "subjects": [user], "roleRef": role})

    def without(self, *resources: str) -> None:
        """Grant all rights but those on some resources, and wait until that is in effect."""
        rules = []
        for rule in self._rules:
            kept = [one for one in rule.get("resources", []) if one not in resources]
            if kept:
                rules.append({**rule, "resources": kept, "resourceNames": None})
        self.cluster.api.patch("ClusterRole", self.user, {"rules": rules})
        for resource in ("nodes", "leases", "pods/binding", "pods/status", "events", *resources):
            wanted = resource not in resources
            eventually(lambda r=resource, w=wanted: self._may(r) == w, f"{resource}: {wanted}")

    def _may(self, resource: str) -> bool:
        verb, group = {
            "nodes": ("list", ""),
            "leases": ("update", "coordination.k8s.io"),
            "pods/binding": ("create", ""),
            "pods/status": ("patch", ""),
            "events": ("create", "events.k8s.io"),
            "tokenreviews": ("create", "authentication.k8s.io"),
            "subjectaccessreviews": ("create", "authorization.k8s.io"),
        }[resource]
        name, _, subresource = resource.partition("/")
        attributes = {"verb": verb, "group": group, "resource": name, "subresource": subresource}
        review = self.cluster.api.create(
            {
                "apiVersion": "authorization.k8s.io/v1",
                "kind": "SubjectAccessReview",
                "spec": {"user": self.user, "resourceAttributes": attributes},
            }
        )
        return bool(review["status"]["allowed"])


class Limited:
    """A scheduler, and the rights that it has."""

    def __init__(self, rights: Rights, mooring: Mooring) -> None:
        self.rights = rights
        self.cluster = rights.cluster
        self.mooring = mooring


@pytest.fixture(scope="module")
def limited(
    control_plane: ControlPlane | GivenCluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Limited]:
    """Start a scheduler without rights to nodes and leases; then grant both, one by one."""
    if not isinstance(control_plane, ControlPlane):
        pytest.skip("the cluster is a given one")
    with turn_on(control_plane), Api(control_plane.access) as api:
        cluster = Cluster(control_plane, api)
        rights = Rights(cluster)
        rights.without("nodes", "leases")
        cluster.create(node("n"))
        config = configuration(control_plane.kubeconfig(rights.user), leaderElection=QUICK_ELECTION)
        mooring = Mooring(tmp_path_factory.mktemp("limited"), config, "--v=2")
        try:
            mooring.wait_logged("nodes is forbidden")
            assert mooring.get("/readyz") == 500
            rights.without("leases")
            mooring.wait_ready()
            eventually(lambda: len(mooring.lines(LEASE_REFUSED)) > 1, LEASE_REFUSED)
            rights.without()
            mooring.wait_logged("Successfully acquired lease")
            yield Limited(rights, mooring)
        finally:
            mooring.process.stop()
            cluster.wipe()


def test_without_the_right_to_see_nodes_it_waits(limited: Limited) -> None:
    (line,) = [line for line in limited.mooring.lines("nodes is forbidden") if '"Failed' in line]
    assert re.search(
        rf'nodes is forbidden: User \\"{limited.rights.user}\\" cannot list resource '
        r'\\"nodes\\" in API group \\"\\" at the cluster scope" type="\*v1.Node"',
        line,
    )


def test_without_the_right_to_leases_it_goes_on_trying_to_lead(limited: Limited) -> None:
    lines = limited.mooring.lines(LEASE_REFUSED)
    assert len(lines) > 1
    assert 'cannot get resource \\"leases\\"' in lines[0]


def test_without_the_right_to_bind_the_pod_says_so_and_is_tried_again(limited: Limited) -> None:
    limited.rights.without("pods/binding")
    limited.cluster.create(pod("p"))
    found = limited.cluster.wait_for("Pod", "p", lambda one: condition(one).get("reason"))
    assert condition(found)["reason"] == "SchedulerError"
    assert condition(found)["message"] == (
        'running Bind plugin "DefaultBinder": pods "p" is forbidden: '
        f'User "{limited.rights.user}" cannot create resource "pods/binding" in API group "" '
        f'in the namespace "{limited.cluster.namespace}"'
    )
    limited.rights.without()
    limited.cluster.wait_for("Pod", "p", is_bound)


def test_without_the_right_to_write_status_the_log_says_so(limited: Limited) -> None:
    limited.rights.without("pods/status")
    limited.cluster.create(pod("q", spec={"nodeSelector": {"no": "where"}}))
    line = limited.mooring.wait_logged('"Error updating pod"')
    assert 'cannot patch resource \\"pods/status\\"' in line
    limited.rights.without()


def test_without_the_right_to_events_pods_are_bound_all_the_same(limited: Limited) -> None:
    limited.rights.without("events")
    limited.cluster.create(pod("r"))
    limited.cluster.wait_for("Pod", "r", is_bound)
    limited.mooring.wait_logged("events.events.k8s.io is forbidden")
    limited.rights.without()


def test_without_the_right_to_reviews_health_is_open_and_pods_are_bound(
    limited: Limited, control_plane: ControlPlane, tmp_path: Path
) -> None:
    limited.rights.without("tokenreviews", "subjectaccessreviews")
    access = control_plane.kubeconfig(limited.rights.user)
    config = configuration(access, profiles=[{"schedulerName": "reviewed"}])
    flags = [f"--{name}-kubeconfig={access}" for name in ("authentication", "authorization")]
    mooring = Mooring(tmp_path, config, *flags)
    try:
        mooring.wait_ready()
        assert [mooring.get(path) for path in ("/healthz", "/livez")] == [200, 200]
        assert mooring.get("/metrics") in (401, 403, 500)
        limited.cluster.create(pod("s", spec={"schedulerName": "reviewed"}))
        limited.cluster.wait_for("Pod", "s", is_bound)
    finally:
        mooring.process.stop()
        limited.rights.without()
