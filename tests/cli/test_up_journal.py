"""`mooring up --journal`, killed and started again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mooring.cli.main import main
from mooring.errors import JournalError
from mooring.journal.entries import AttemptEnds, Bound, SegmentHead
from mooring.journal.journal_reading import read_journal
from tests.apiserver.api_server import PODS, pod
from tests.support.api import Api
from tests.support.local_up import MOORING, Up
from tests.support.processes import Process
from tests.support.waiting import eventually

MANIFEST = """\
apiVersion: v1
kind: Node
metadata: {name: node-0}
---
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: default}
spec:
  containers: [{name: web, image: nginx, env: [{name: A, value: s3cret}]}]
"""


def entries(folder: Path, kind: type[Any]) -> list[Any]:
    """Return the entries of a kind that the journal has so far."""
    try:
        return [entry for entry in read_journal(folder) if isinstance(entry, kind)]
    except JournalError:
        # The process has not begun to write.
        return []


def test_a_journal_survives_that_its_process_is_killed(tmp_path: Path, capsys: Any) -> None:
    (tmp_path / "pods.yaml").write_text(MANIFEST)
    folder = tmp_path / "journal"
    flags = ["up", "--kubeconfig=kubeconfig", "--filename=pods.yaml", "--journal=journal"]
    for run in (1, 2):
        process = Process(MOORING, flags, tmp_path / "log", cwd=tmp_path)
        try:
            eventually(
                lambda run=run: len(entries(folder, Bound)) == run, "a bind in the journal", 60
            )
            if run == 2:
                other = [*flags[:1], f"--kubeconfig={tmp_path / 'other'}", f"--journal={folder}"]
                assert main(other) == 1
                assert "another process writes a journal there" in capsys.readouterr().err
        finally:
            process.kill()
    assert len({head.run for head in entries(folder, SegmentHead)}) == 2
    assert [entry.record.node for entry in entries(folder, AttemptEnds)] == ["node-0", "node-0"]
    assert b"s3cret" not in b"".join(path.read_bytes() for path in folder.iterdir())


def test_attempts_that_the_scheduler_no_longer_remembers_are_explained_from_the_journal(
    tmp_path: Path,
) -> None:
    flags = ("--nodes=2", "--journal=journal", "--explain-memory=1")
    cluster = Up(tmp_path / "up", tmp_path, Path("kubectl"), *flags)
    try:
        cluster.wait_ready()
        with Api(cluster.access) as api:
            api.request("POST", PODS, pod("web"))
            eventually(lambda: entries(tmp_path / "journal", Bound), "a bind in the journal", 60)
            found = api.request("GET", "explain/v1/namespaces/default/pods/web?attempt=1")
    finally:
        cluster.stop()
    assert (found["fromJournal"], found["askedNow"]) == (True, False)
    assert found["currentNode"] == found["chosenNode"] == found["record"]["node"]
    assert len(found["scorePlugins"]) > 3
