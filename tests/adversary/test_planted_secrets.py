"""Secrets of every kind are planted; none is in a file or text that Mooring writes."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mooring import Plugin
from mooring.cli.main import main
from mooring.errors import ApiError, NoAnswerError
from mooring.framework.handle import HttpAnswer
from mooring.journal.entries import Fetched, SegmentHead
from mooring.journal.frames import read_frames
from mooring.journal.omission import LAST_APPLIED
from mooring.journal.segments import list_segments
from mooring.observe.logs import KlogFormatter
from tests.journal.journals import read
from tests.replay.recordings import JournaledCluster, journaled, node, pod

#: Each planted secret begins so.
PLANTED = "planted-"
SECRETS = "secrets.v1."


def planted(kind: str) -> str:
    """Return a secret whose text names its kind."""
    return f"{PLANTED}{kind}-0123456789"


EXTENDER = f"http://me:{planted('extender-user')}@127.0.0.1:1/x?key={planted('extender-query')}"
ADDRESS = f"http://me:{planted('user')}@web.example/{{}}?key={planted('query')}"


class Nosy(Plugin):
    """A plugin that reads Secrets and other servers in every way, and scores by what they say."""

    class Args(msgspec.Struct):
        address: str = ADDRESS
        token: str = planted("token")

    def start(self) -> None:
        self.known = 0
        self.secrets = self.handle.lister(SECRETS)
        self.handle.watch(SECRETS, added=lambda secret: None)
        self.handle.every(1.0, self.read)

    async def read(self) -> None:
        http, client = self.handle.http, self.handle.client
        token = self.args.token
        answer = await http.get(self.args.address.format("answer"), token=token)
        self.known = len(answer.body)
        await client.get(SECRETS, "db", "default")  # type: ignore[type-var]
        await client.list(SECRETS, "default")
        try:
            await http.get(self.args.address.format("fails"), token=token)
        except NoAnswerError:
            raise ApiError(500, "cannot be read", url=self.args.address) from None

    def score(self, state: object, pod: object, node: Any) -> int:
        return min(100, 5 * self.known) if node.name == "node-1" else 50


class Web:
    """A server whose answers are secret."""

    async def get(self, url: str, **options: Any) -> HttpAnswer:
        if "fails" in url:
            raise NoAnswerError("the connection was lost", sent=True, method="GET", url=url)
        return HttpAnswer(200, planted("body").encode())

    async def close(self) -> None:
        """Do nothing."""


def objects() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the paths of objects that hold secrets, and the objects."""
    value = base64.b64encode(planted("secret").encode()).decode()
    token = {"openshift.io/token-secret.value": planted("annotation")}
    yield (
        "/api/v1/namespaces/default/secrets",
        {"metadata": {"name": "db", "annotations": token}, "data": {"password": value}},
    )
    parameters = {"restuserkey": planted("parameter")}
    yield (
        "/apis/storage.k8s.io/v1/storageclasses",
        {"metadata": {"name": "fast"}, "provisioner": "example.com", "parameters": parameters},
    )
    attributes = {"driverName": "example.com", "parameters": parameters}
    yield (
        "/apis/storage.k8s.io/v1/volumeattributesclasses",
        {"metadata": {"name": "gold"}, **attributes},
    )
    for name, source in (
        ("csi", {"driver": "d", "volumeHandle": "h", "volumeAttributes": {"k": planted("csi")}}),
        ("flexVolume", {"driver": "d/d", "options": {"k": planted("flex")}}),
    ):
        spec = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], name: source}
        yield "/api/v1/persistentvolumes", {"metadata": {"name": f"v-{name.lower()}"}, "spec": spec}
        source = {"inlineVolumeSpec": spec}
        if name == "csi":
            yield (
                "/apis/storage.k8s.io/v1/volumeattachments",
                {
                    "metadata": {"name": "a"},
                    "spec": {"attacher": "d", "nodeName": "node-0", "source": source},
                },
            )
    yield from claims()
    yield from workloads()


def applied(kind: str, **more: Any) -> dict[str, Any]:
    """Return metadata with the copy of an object that `kubectl apply` makes."""
    return {"annotations": {LAST_APPLIED: planted(f"applied-{kind}")}, **more}


def claims() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield a class of devices and a claim with parameters for a driver."""

    def config(kind: str) -> dict[str, Any]:
        parameters = {"apiVersion": "a/v1", "kind": "K", "key": planted(f"{kind}-parameter")}
        return {"config": [{"opaque": {"driver": "example.com", "parameters": parameters}}]}

    group = "/apis/resource.k8s.io/v1"
    yield f"{group}/deviceclasses", {"metadata": {"name": "gpu"}, "spec": config("class")}
    requests = [{"name": "r", "exactly": {"deviceClassName": "gpu"}}]
    yield (
        f"{group}/namespaces/default/resourceclaims",
        {
            "metadata": applied("claim", name="c"),
            "spec": {"devices": {"requests": requests} | config("c")},
        },
    )
    devices = {"devices": [{"name": "x"}], "nodeName": "node-0", "driver": "example.com"}
    pool = {"pool": {"name": "p", "generation": 1, "resourceSliceCount": 1}}
    yield f"{group}/resourceslices", {"metadata": {"name": "s"}, "spec": devices | pool}


def workloads() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield workloads whose templates hold secrets."""
    storage = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    headers = [{"name": "Authorization", "value": planted("header")}]
    container = {
        **secretive_pod()["spec"]["containers"][0],
        "livenessProbe": {"httpGet": {"path": "/", "port": 80, "httpHeaders": headers}},
        "lifecycle": {"preStop": {"exec": {"command": [planted("hook")]}}},
    }
    first = {"name": "first", "image": "i", "args": [planted("init")]}
    ephemeral = {"volumeClaimTemplate": {"metadata": applied("volume"), "spec": storage}}
    volumes = [*secretive_pod()["spec"]["volumes"], {"name": "e", "ephemeral": ephemeral}]
    metadata = {"labels": {"app": "x"}, **applied("template")}
    spec = {"containers": [container], "initContainers": [first], "volumes": volumes}
    common = {"replicas": 0, "template": {"metadata": metadata, "spec": spec}}
    apps = {**common, "selector": {"matchLabels": {"app": "x"}}}
    templates = {
        "volumeClaimTemplates": [{"metadata": applied("template", name="d"), "spec": storage}]
    }
    for path, more in (
        ("/apis/apps/v1/namespaces/default/replicasets", apps),
        ("/apis/apps/v1/namespaces/default/statefulsets", {**apps, "serviceName": "s"} | templates),
        (
            "/api/v1/namespaces/default/replicationcontrollers",
            {**common, "selector": {"app": "x"}},
        ),
    ):
        yield path, {"metadata": applied("workload", name="w"), "spec": more}


def secretive_pod() -> dict[str, Any]:
    """Return a pod with secrets wherever a pod may have some."""
    made = pod("web")
    container = {
        **made["spec"]["containers"][0],
        "env": [{"name": "A", "value": planted("env")}],
        "command": [planted("command")],
        "args": [planted("args")],
    }
    volumes = [
        {"name": "a", "csi": {"driver": "d", "volumeAttributes": {"k": planted("inline")}}},
        {"name": "b", "flexVolume": {"driver": "d/d", "options": {"k": planted("inline-flex")}}},
        {"name": "c", "gitRepo": {"repository": f"https://me:{planted('git')}@example.com/r"}},
    ]
    return {**made, "spec": {**made["spec"], "containers": [container], "volumes": volumes}}


async def play(cluster: JournaledCluster) -> None:
    for path, obj in objects():
        made = await cluster.server.ask("POST", path, obj)
        assert "uid" in made["metadata"], made["message"]
    await cluster.create(node("node-0"), node("node-1"))
    await cluster.create(secretive_pod())
    claiming = pod("claiming")
    claiming["spec"]["resourceClaims"] = [{"name": "c", "resourceClaimName": "c"}]
    await cluster.create(claiming)
    running = asyncio.create_task(cluster.running.scheduler.run())
    for number in range(4):
        await cluster.clock.sleep(3.0)
        await cluster.create(pod(f"more-{number}"))
    ended = {"exitCode": 1, "message": planted("termination")}
    waiting = {"reason": "ErrImagePull", "message": planted("waiting")}
    state = {"state": {"waiting": waiting}, "lastState": {"terminated": ended}}
    status = {"containerStatuses": [{"name": "c", **state}]}
    path = "/api/v1/namespaces/default/pods/web/status"
    await cluster.server.ask(
        "PATCH", path, {"status": status}, content_type="application/merge-patch+json"
    )
    # Nothing serves the extender: each attempt may wait for its timeout of 5 s.
    await cluster.clock.sleep(60.0)
    running.cancel()


@pytest.fixture
def journal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> Path:
    # As with --v=10, and more.
    caplog.set_level(1, "mooring")
    monkeypatch.setattr("mooring.scheduler.running_scheduler.WebClient", lambda clock: Web())
    config = tmp_path / "config.yaml"
    args = {"address": ADDRESS, "token": planted("token")}
    document = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "extenders": [
            {"urlPrefix": EXTENDER, "filterVerb": "f", "weight": 1, "ignorable": True},
        ],
        "profiles": [
            {
                "plugins": {"multiPoint": {"enabled": [{"name": "Nosy"}]}},
                "pluginConfig": [{"name": "Nosy", "args": args}],
            }
        ],
    }
    config.write_text(json.dumps(document))
    folder = tmp_path / "journal"
    folder.mkdir()
    journaled(folder, play, Nosy, config=config)
    return folder


def content(folder: Path) -> str:
    """Return what a journal holds."""
    blocks = []
    for segment in list_segments(folder):
        with segment.path.open("rb") as file:
            blocks += read_frames(file, "")
    return b"".join(blocks).decode()


def spellings(text: str) -> Iterator[str]:
    """Yield the places of a text where a planted secret is, also in base64."""
    encoded = base64.b64encode(PLANTED.encode()).decode().rstrip("=")[:-1]
    for spelling in (PLANTED, encoded):
        place = text.find(spelling)
        if place >= 0:
            yield text[max(0, place - 80) : place + 60]


def test_no_planted_secret_is_in_what_is_written(
    journal: Path, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    # What was planted has been read.
    requests = {entry.request for entry in read(journal, Fetched)}
    assert f"get {SECRETS} default/db" in requests
    assert f"list {SECRETS} default" in requests
    assert "GET http://web.example/answer?key=…" in requests
    text = content(journal)
    assert '"secrets.v1."' in text and '"password"' in text and "restuserkey" in text
    for kind in ("deviceclasses", "resourceclaims", "volumeattachments", "statefulsets"):
        assert f'"{kind}.v1.' in text
    assert '"FromClaim"' in text
    assert '"http://127.0.0.1:1/x?key=…","filter"' in text
    assert list(spellings(text)) == []
    formatter = KlogFormatter()
    logged = "\n".join(map(formatter.format, caplog.get_records("setup")))
    assert "Periodic work of a plugin failed" in logged
    assert list(spellings(logged)) == []
    for command in (
        *(["replay", str(journal), "-o", output] for output in ("text", "json", "html")),
        ["replay", str(journal), "--history", "own"],
        ["explain", "web", "--journal", str(journal), "--nodes", "all"],
        ["explain", "web", "--journal", str(journal), "-o", "json"],
    ):
        assert main(command, plugins=[Nosy]) == 0
        shown = capsys.readouterr()
        assert list(spellings(shown.out + shown.err)) == []


def test_decisions_by_answers_that_are_left_out_are_not_comparable(
    journal: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["replay", str(journal), "-o", "json"], plugins=[Nosy]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["lacking"] == ["", "Nosy"]
    assert report["notComparable"] > 0
    assert (report["deviating"], report["contradictions"]) == (0, 0)
    assert main(["replay", str(journal)], plugins=[Nosy]) == 0
    text = capsys.readouterr().out
    assert "the journal leaves out answers to a plugin (Nosy, one that reads Secrets): " in text
    assert "every other decision came out the same" in text
    config = str(journal.parent / "config.yaml")
    assert main(["replay", str(journal), "--config", config, "-o", "json"], plugins=[Nosy]) == 0
    counts = json.loads(capsys.readouterr().out)["counts"]
    assert counts["not comparable"] > 0
    assert counts["same"] + counts["not comparable"] == sum(counts.values())
    assert main(["explain", "more-3", "--journal", str(journal)], plugins=[Nosy]) == 0
    assert "the journal leaves out answers to a plugin" in capsys.readouterr().out


def test_equal_answers_have_equal_digests(journal: Path) -> None:
    answers = [one for one in read(journal, Fetched) if "answer?" in one.request]
    assert {(one.status, one.body) for one in answers} == {(200, "")}
    digests = {one.left_out for one in answers}
    assert len(digests) == 1 and len(digests.pop()) == 32
    secrets = {one.body for one in read(journal, Fetched) if one.request.startswith("get secrets")}
    (secret,) = map(json.loads, secrets)
    assert list(secret["data"]) == ["password"]
    (head,) = read(journal, SegmentHead)
    args = head.config["profiles"][0]["pluginConfig"]
    found = next(one["args"] for one in args if one["name"] == "Nosy")
    assert found == {"address": "http://web.example/{}?key=…", "token": "(left out)"}
