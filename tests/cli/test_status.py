"""`mooring status`, `mooring list` and `mooring down` for a cluster that was started elsewhere."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import msgspec
import pytest

from mooring.cli.status import PATIENCE, count_states, phase
from mooring.client.transport import MAX_OBJECT
from tests.cli.test_up import PLUGIN, mooring
from tests.support.virtual_loop import run_virtually
from tests.support.waiting import eventually


def test_a_cluster_is_found_from_everywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    there, here = tmp_path / "there", tmp_path / "here"
    there.mkdir()
    here.mkdir()
    (here / "mine.py").write_text(PLUGIN)
    nothing = mooring(here, "list")
    assert (nothing.returncode, nothing.stdout) == (0, "No local cluster runs.\n")
    flags = ("--nodes=2", "--plugin=mine.py:Mine", "--kubeconfig=../there/config")
    started = mooring(here, "up", "--detach", *flags)
    kubeconfig = there / "config"
    try:
        assert started.returncode == 0, started.stderr
        assert (
            f"  kubeconfig  {kubeconfig}\nTry: export KUBECONFIG={kubeconfig}\n" in started.stdout
        )
        assert f"     mooring down --kubeconfig {kubeconfig}\n" in started.stdout
        address = re.search(r"https://127.0.0.1:\d+", started.stdout)
        assert address is not None
        header, row = mooring(tmp_path, "list").stdout.splitlines()
        assert header.split() == ["KUBECONFIG", "ADDRESS", "PID", "AGE"]
        assert row.split()[:2] == [str(kubeconfig), address[0]]
        status = mooring(tmp_path, "status")
        assert status.returncode == 0, status.stderr
        shown = dict(line.split(maxsplit=1) for line in status.stdout.splitlines())
        assert shown["version"].startswith("Mooring ")
        assert shown["address"] == address[0]
        assert re.fullmatch(r"\d+[sm].*", shown["age"])
        assert shown["nodes"] == "2: 2 Ready"
        assert shown["pods"] == "0"
        assert shown["profiles"] == "default-scheduler"
        assert shown["plugins"] == "the built-in ones, Mine"
        assert shown["kubeconfig"] == str(kubeconfig)
        assert shown["log"] == f"{kubeconfig}.log"
        assert (there / "config.log").exists()
        refused = mooring(tmp_path, "down")
        assert refused.returncode == 1
        assert refused.stderr.endswith(f"  mooring down --kubeconfig {kubeconfig}\n")
    finally:
        ended = mooring(tmp_path, "down", "--kubeconfig", str(kubeconfig))
    assert ended.stdout == "The local cluster has ended.\n"
    assert mooring(tmp_path, "list").stdout == "No local cluster runs.\n"
    assert mooring(tmp_path, "status").returncode == 1


def test_the_environment_names_the_cluster_and_pods_may_be_large(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    # Together more than one response may have.
    size, count = 250_000, 70
    assert size * count > MAX_OBJECT
    pods = [pod(f"large-{place}", "nginx", {"a": "x" * size}) for place in range(count)]
    pods.append(pod("scheduler", "example.com/mooring:v1", {}))
    (tmp_path / "pods.json").write_bytes(msgspec.json.encode(pods_list(pods)))
    flags = ("--kubeconfig=there/config", "--nodes=1", "-f", "pods.json")
    started = mooring(tmp_path, "up", "--detach", *flags)
    monkeypatch.setenv("KUBECONFIG", f"{tmp_path}/there/config")
    try:
        assert started.returncode == 0, started.stderr
        shown = eventually(
            lambda: "simulated" in (text := mooring(tmp_path, "status").stdout) and text,
            "the simulated pod",
        )
        assert re.search(rf"^pods        {count + 1}: ", shown, re.MULTILINE)
        assert (
            "simulated   1 of image mooring; to run them: --image mooring --run-loaded-images\n"
            in shown
        )
    finally:
        ended = mooring(tmp_path, "down")
    assert ended.stdout == "The local cluster has ended.\n"


class SlowClient:
    """A client that gets a page of a list after some seconds."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    async def request(self, method: str, target: str, **_: Any) -> bytes:
        await asyncio.sleep(self._seconds)
        number = int(dict(parse_qsl(urlsplit(target).query)).get("continue", "0"))
        items = [{"metadata": {"uid": str(number)}, "status": {"phase": "Running"}}]
        token = {"continue": str(number + 1)} if number < 9 else {}
        return msgspec.json.encode({"metadata": token, "items": items})


def test_many_pages_may_take_longer_than_one_response() -> None:
    def counted(seconds: float) -> str:
        client: Any = SlowClient(seconds)
        return run_virtually(count_states(client, "/api/v1/pods", phase))

    assert counted(PATIENCE - 1.0) == "10: 10 Running"
    with pytest.raises(TimeoutError):
        counted(PATIENCE + 1.0)


def pod(name: str, image: str, annotations: dict[str, str]) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "annotations": annotations},
        "spec": {"containers": [{"name": "c", "image": image}]},
    }


def pods_list(items: list[dict[str, Any]]) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "List", "items": items}
