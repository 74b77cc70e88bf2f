"""The scheduler of a local cluster, and how it is replaced."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from pathlib import Path

import pytest

from mooring import Plugin, Status
from mooring.errors import ApiError, JournalError, PluginError
from mooring.explain.journal_questions import JournalAnswer, JournalQuestion
from mooring.explain.scheduler_rules import RecordedPlugin
from mooring.journal.entries import Bound, SegmentHead
from mooring.journal.journal_folder import JournalFolder
from mooring.journal.journal_reading import read_journal
from mooring.local.local_scheduler import WAITING
from mooring.registry import load_plugin
from mooring.replay.child_replayer import ChildReplayer
from tests.apiserver.api_server import pod
from tests.local.clusters import Broken, nodes_of, plan, running
from tests.support.waiting import PATIENCE

PODS = "/api/v1/namespaces/default/pods"
NODES = "/api/v1/nodes"


class OnlyNodeOne(Plugin):
    """A filter that keeps pods on node-1."""

    def filter(self, state: object, pod: object, node: object) -> Status | None:
        """Refuse the others."""
        return None if node.name == "node-1" else Status.unschedulable("not node-1")  # type: ignore[attr-defined]


class OnlyNodeTwo(Plugin):
    """A filter that keeps pods on node-2."""

    def filter(self, state: object, pod: object, node: object) -> Status | None:
        """Refuse the others."""
        return None if node.name == "node-2" else Status.unschedulable("not node-2")  # type: ignore[attr-defined]


#: A file that another process can load, which has no access to the tests.
ONLY_NODE_TWO = """\
from mooring import Plugin, Status


class OnlyNodeTwo(Plugin):
    def filter(self, state, pod, node):
        return None if node.name == "node-2" else Status.unschedulable("not node-2")
"""


class ByBoat(Plugin):
    """A filter that reads a custom resource."""

    def start(self) -> None:
        """Get a lister of the custom resource."""
        self.boats = self.handle.lister("boats.v1.example.com")

    def filter(self, state: object, pod: object, node: object) -> Status | None:
        """Agree if there is a boat."""
        return None if len(list(self.boats.list())) else Status.unschedulable("no boat")


class Nowhere(Plugin):
    """A plugin that keeps pods waiting at Permit."""

    asked = 0

    def permit(self, state: object, pod: object, node_name: str) -> Status:
        """Wait for an hour."""
        Nowhere.asked += 1
        return Status.wait(3600)


async def test_a_file_without_default_scheduler_gets_it_beside_its_own(tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\n"
        "kind: KubeSchedulerConfiguration\n"
        "profiles:\n"
        "- schedulerName: mine\n"
        "  plugins: {multiPoint: {enabled: [{name: OnlyNodeOne}]}}\n"
    )
    both = plan(config, [OnlyNodeOne])
    assert [one.scheduler_name for one in both.config.profiles] == ["mine", "default-scheduler"]
    async with running(tmp_path, nodes=3, plan=both) as cluster:
        await cluster.post(PODS, pod("a", schedulerName="mine"))
        await cluster.post(PODS, pod("b"))
        found = await cluster.until(PODS, lambda pods: len(nodes_of(pods)) == 2)
        assert nodes_of(found)["a"] == "node-1"


async def test_the_added_profile_takes_its_order_from_the_file(tmp_path: Path) -> None:
    class Oldest(Plugin):
        def less(self, a: object, b: object) -> bool:
            return False

    config = tmp_path / "config.yaml"
    config.write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\n"
        "kind: KubeSchedulerConfiguration\n"
        "profiles:\n"
        "- schedulerName: mine\n"
        "  plugins: {queueSort: {enabled: [{name: Oldest}], disabled: [{name: PrioritySort}]}}\n"
    )
    async with running(tmp_path, nodes=1, plan=plan(config, [Oldest])) as cluster:
        await cluster.post(PODS, pod("a"))
        await cluster.until(PODS, lambda pods: nodes_of(pods) == {"a": "node-0"})


async def test_pods_that_wait_outlive_a_change_of_plugins(tmp_path: Path) -> None:
    asked = Nowhere.asked
    async with running(tmp_path, nodes=3, plan=plan(plugins=[Nowhere])) as cluster:
        await cluster.post(PODS, pod("a"))
        async with asyncio.timeout(PATIENCE):
            while Nowhere.asked == asked:
                await asyncio.sleep(0.01)
        await cluster.cluster.replace_scheduler(plan(plugins=[OnlyNodeTwo]))
        await cluster.until(PODS, lambda pods: nodes_of(pods) == {"a": "node-2"})


async def test_the_records_of_attempts_outlive_a_change_of_plugins(tmp_path: Path) -> None:
    async with running(tmp_path, nodes=3, plan=plan(plugins=[Nowhere])) as cluster:
        explainer = cluster.cluster.explainer
        assert explainer is not None
        await cluster.post(PODS, pod("a"))
        await explainer.wait_for_records(0)
        await cluster.cluster.replace_scheduler(plan(plugins=[OnlyNodeTwo]))
        await cluster.until(PODS, lambda pods: nodes_of(pods) == {"a": "node-2"})
        found = await explainer.explain_pod("default", "a")
        assert found.record is not None and found.record.node == "node-2"
        (earlier,) = found.others
        assert (earlier.outcome, earlier.bound) == ("scheduled", False)
        assert earlier.binding_error == "the scheduler is shutting down"


async def test_nothing_is_waited_for_in_vain(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mooring.local.local_scheduler.PATIENCE", 3600)
    monkeypatch.setattr("mooring.local.workers._PATIENCE", 3600)
    async with asyncio.timeout(PATIENCE), running(tmp_path, nodes=3):
        pass


async def test_a_plugin_may_ask_for_what_is_defined_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("mooring.local.local_scheduler.PATIENCE", 0.1)
    async with running(tmp_path, nodes=1, plan=plan(plugins=[ByBoat])) as cluster:
        assert [one.kv["resource"] for one in caplog.records if one.msg == WAITING] == [
            "boats.v1.example.com"
        ]
        await cluster.post(PODS, pod("a"))
        names = {"plural": "boats", "singular": "boat", "kind": "Boat", "listKind": "BoatList"}
        schema = {"openAPIV3Schema": {"type": "object"}}
        version = {"name": "v1", "served": True, "storage": True, "schema": schema}
        definition = {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": "boats.example.com"},
            "spec": {
                "group": "example.com",
                "scope": "Namespaced",
                "names": names,
                "versions": [version],
            },
        }
        await cluster.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)
        boat = {"apiVersion": "example.com/v1", "kind": "Boat", "metadata": {"name": "b"}}
        await cluster.post("/apis/example.com/v1/namespaces/default/boats", boat)
        await cluster.until(PODS, lambda pods: nodes_of(pods) == {"a": "node-0"})


async def test_plugins_that_cannot_be_made_leave_the_old_ones_at_work(tmp_path: Path) -> None:
    async with running(tmp_path, nodes=3, plan=plan(plugins=[OnlyNodeOne])) as cluster:
        with pytest.raises(Exception, match="no such thing"):
            await cluster.cluster.replace_scheduler(plan(plugins=[Broken]))
        await cluster.post(PODS, pod("a"))
        await cluster.until(PODS, lambda pods: nodes_of(pods) == {"a": "node-1"})


def test_a_file_with_a_default_scheduler_stays_as_it_is(tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\n"
        "kind: KubeSchedulerConfiguration\n"
        "profiles:\n"
        "- schedulerName: default-scheduler\n"
    )
    assert [one.scheduler_name for one in plan(config).config.profiles] == ["default-scheduler"]


@pytest.mark.parametrize(
    ("connection", "warnings"),
    [
        pytest.param("", 0, id="none"),
        pytest.param("clientConnection: {qps: 5}\n", 0, id="rate"),
        pytest.param("clientConnection: {kubeconfig: /etc/kubernetes/x}\n", 1, id="kubeconfig"),
    ],
)
def test_a_kubeconfig_of_another_cluster_is_not_read(
    tmp_path: Path, connection: str, warnings: int
) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\n"
        f"kind: KubeSchedulerConfiguration\n{connection}"
    )
    expected = (
        f'{config}: clientConnection.kubeconfig: "/etc/kubernetes/x" is not read: the scheduler '
        "of a local cluster uses that cluster"
    )
    assert plan(config).config.warnings == (expected,) * warnings


async def test_a_scheduler_that_ends_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail(self: object) -> None:
        raise RuntimeError("no more")

    monkeypatch.setattr("mooring.scheduler.running_scheduler.RunningScheduler.sync", fail)
    with pytest.raises(RuntimeError, match="no more"):
        async with running(tmp_path, nodes=0):
            pass
    assert "The scheduler has ended" in [one.msg for one in caplog.records]


async def test_a_journal_goes_on_with_other_plugins(tmp_path: Path) -> None:
    folder, asked = tmp_path / "journal", Nowhere.asked
    async with running(
        tmp_path, nodes=3, plan=plan(plugins=[Nowhere]), journal=str(folder)
    ) as cluster:
        await cluster.post(PODS, pod("a"))
        async with asyncio.timeout(PATIENCE):
            while Nowhere.asked == asked:
                await asyncio.sleep(0.01)
        with pytest.raises(JournalError, match="another process writes a journal there"):
            JournalFolder(str(folder))
        with pytest.raises(PluginError, match="no such thing"):
            await cluster.cluster.replace_scheduler(plan(plugins=[Broken]))
        await cluster.cluster.replace_scheduler(plan(plugins=[OnlyNodeTwo]))
        await cluster.until(PODS, lambda pods: nodes_of(pods) == {"a": "node-2"})
    entries = list(read_journal(folder))
    heads = [entry for entry in entries if isinstance(entry, SegmentHead)]
    plugins = [{plugin.name for plugin in head.plugins} for head in heads]
    assert ["Nowhere" in names for names in plugins] == [True, False]
    assert ["OnlyNodeTwo" in names for names in plugins] == [False, True]
    assert [entry.node for entry in entries if isinstance(entry, Bound)] == ["node-2"]


async def test_an_attempt_whose_record_is_gone_is_explained_from_the_journal(
    tmp_path: Path,
) -> None:
    file = tmp_path / "only_node_two.py"
    file.write_text(ONLY_NODE_TWO)
    async with running(
        tmp_path,
        nodes=3,
        plan=plan(plugins=[Nowhere]),
        journal=str(tmp_path / "journal"),
        replayer=ChildReplayer(),
        explain_memory=1,
    ) as cluster:
        path = "/explain/v1/namespaces/default/pods/a"
        await cluster.post(PODS, pod("a"))
        explainer = cluster.cluster.explainer
        assert explainer is not None
        await explainer.wait_for_records(0)
        await cluster.cluster.replace_scheduler(plan(plugins=[load_plugin(f"{file}:OnlyNodeTwo")]))
        await cluster.until(PODS, lambda pods: nodes_of(pods) == {"a": "node-2"})
        last = await cluster.get(path)
        assert (last["fromJournal"], last["askedNow"], last["record"]["attempt"]) == (
            True,
            False,
            1,
        )
        assert (last["chosenNode"], last["journalProblem"]) == ("node-2", "")
        refused = [one for one in last["filterPlugins"] if one["name"] == "OnlyNodeTwo"]
        assert [code is None for code in refused[0]["verdicts"]] == [False, False, True]
        with pytest.raises(ApiError, match="attempt 9 of pod default/a is not known"):
            await cluster.get(f"{path}?attempt=9")
        now = await cluster.get(f"{path}?attempt=0")
        assert (now["fromJournal"], now["askedNow"]) == (False, True)


class Endless:
    """A replayer that never answers."""

    def __init__(self) -> None:
        self.began = asyncio.Event()

    async def replay(
        self, folder: Path, question: JournalQuestion, plugins: Collection[RecordedPlugin]
    ) -> JournalAnswer | None:
        """Wait until the question is withdrawn."""
        self.began.set()
        await asyncio.get_running_loop().create_future()
        return None


async def test_pods_are_scheduled_while_an_attempt_is_replayed(tmp_path: Path) -> None:
    replayer = Endless()
    async with running(
        tmp_path,
        nodes=1,
        journal=str(tmp_path / "journal"),
        replayer=replayer,
        explain_memory=1,
    ) as cluster:
        path = "/explain/v1/namespaces/default/pods/a?attempt=1"
        await cluster.post(PODS, pod("a"))
        await cluster.until(PODS, lambda pods: nodes_of(pods) == {"a": "node-0"})
        asking = asyncio.create_task(cluster.get(path))
        await asyncio.wait_for(replayer.began.wait(), 10)
        await cluster.post(PODS, pod("b"))
        await cluster.until(PODS, lambda pods: nodes_of(pods) == {"a": "node-0", "b": "node-0"})
        assert not asking.done()
        with pytest.raises(ApiError, match="too many questions; ask again in 5"):
            await cluster.client.request("GET", path, retries=0)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
