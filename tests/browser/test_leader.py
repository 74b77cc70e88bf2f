"""The leader's history in a browser: its decisions, the attempts of a pod, and its queue."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from mooring import Plugin, Status
from mooring.explain import questions
from mooring.leader.scheduler_questions import SchedulerAddress
from mooring.ui import leader_link
from tests.apiserver.api_server import PODS, pod
from tests.browser.test_nodes import NODES, asking
from tests.browser.visits import serious_findings, texts, visit
from tests.local.clusters import Reader, manifests, plan, running
from tests.support.leaders import leading
from tests.support.pages import serving

MARKUP = "<img src=x onerror=\"document.title='hit'\"><b id=planted>bold</b>"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
#: The rights to use the page and to get explanations of pods, but not to read decisions.
READER = [
    {"apiGroups": [""], "resources": ["nodes"], "verbs": ["list", "watch"]},
    {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch"]},
]
WEIGHTS = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins:
    score:
      disabled: [{name: TaintToleration}]
      enabled: [{name: TaintToleration, weight: 9}]
"""


async def one_attempt_each(cluster: Reader) -> None:
    """Create a pod that gets a node, and one that does not; wait until both were tried."""
    await cluster.post(PODS, asking("web", "1"))
    await cluster.post(PODS, asking("huge", "6"))
    await cluster.until(f"{PODS}/web", lambda found: found["spec"].get("nodeName"))
    await cluster.until(f"{PODS}/huge", lambda found: found["status"].get("conditions"))


async def second_attempt(cluster: Reader) -> None:
    """Add a node for the pod that fits nowhere, and wait until the pod is on it."""
    node = {
        "metadata": {"name": "large"},
        "status": {"allocatable": {"cpu": "16", "memory": "8Gi", "pods": "10"}},
    }
    await cluster.post("/api/v1/nodes", node)
    await cluster.until(f"{PODS}/huge", lambda found: found["spec"].get("nodeName"))


async def give_rights(cluster: Reader, rules: list[Any], folder: Path) -> None:
    """Write a kubeconfig `limited` of a user with some rights."""
    accounts = "/api/v1/namespaces/default/serviceaccounts"
    await cluster.post(accounts, {"metadata": {"name": "limited"}})
    answer = await cluster.post(f"{accounts}/limited/token", {"spec": {}})
    await cluster.post(f"{RBAC}/clusterroles", {"metadata": {"name": "limited"}, "rules": rules})
    subject = {"kind": "ServiceAccount", "name": "limited", "namespace": "default"}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "limited"}
    binding = {"metadata": {"name": "limited"}, "roleRef": role, "subjects": [subject]}
    await cluster.post(f"{RBAC}/clusterrolebindings", binding)
    config = yaml.safe_load((folder / "kubeconfig").read_text())
    config["users"][0]["user"] = {"token": answer["status"]["token"]}
    (folder / "limited").write_text(yaml.safe_dump(config))


async def rows_of_decisions(tab: Any) -> list[tuple[str, str, str]]:
    """Return outcome, pod and source of the decisions, the oldest first."""
    _, *rows = await texts(tab, "#decisions")
    return [(row[1], row[2], row[4]) for row in reversed(rows)]


async def test_decisions_from_before_the_page_was_opened_and_new_ones(
    browser: Any, tmp_path: Path
) -> None:
    async with running(tmp_path, nodes=0, objects=manifests(NODES)) as cluster:
        await one_attempt_each(cluster)
        async with (
            serving(tmp_path, leader=SchedulerAddress()) as page,
            visit(browser, page) as tab,
        ):
            await tab.get_by_role("link", name="Decisions").click()
            await tab.locator("#leader").get_by_text("Told by the scheduler of the").wait_for()
            await tab.get_by_role("row").nth(2).wait_for()
            first = [
                ("scheduled", "default/web", "leader, attempt 1"),
                ("unschedulable", "default/huge", "leader, attempt 1"),
            ]
            assert await rows_of_decisions(tab) == first
            # The decision about a pod of another scheduler is observed in API objects.
            other = asking("other", "1")
            other["spec"]["schedulerName"] = "another"
            await cluster.post(PODS, other)
            target = {"metadata": {"name": "other"}, "target": {"kind": "Node", "name": "red"}}
            await cluster.post(f"{PODS}/other/binding", target)
            await tab.get_by_role("row").filter(has_text="API objects").wait_for()
            await second_attempt(cluster)
            await tab.get_by_role("link", name="leader, attempt 2").wait_for()
            assert await rows_of_decisions(tab) == [
                *first,
                ("bound", "default/other", "API objects"),
                ("scheduled", "default/huge", "leader, attempt 2"),
            ]


async def test_a_leader_that_was_restarted_is_followed_again(browser: Any, tmp_path: Path) -> None:
    async with running(tmp_path, nodes=1, plan=None) as cluster:
        await cluster.post(PODS, pod("before"))
        async with (
            leading(tmp_path) as leader,
            serving(tmp_path, leader=leader.address) as page,
            visit(browser, page) as tab,
        ):
            await tab.get_by_role("link", name="Decisions").click()
            told = tab.get_by_role("row").filter(has_text="leader, attempt 1")
            await told.filter(has_text="default/before").wait_for()
            await tab.locator("#leader").get_by_text("(Lease kube-system/kube-").wait_for()
            await leader.stop()
            await tab.locator("#leader").get_by_text("The leader cannot be followed").wait_for()
            await cluster.post(PODS, pod("after"))
            await leader.start()
            await told.filter(has_text="default/after").wait_for()
            await tab.locator("#leader").get_by_text("Told by").wait_for()
            assert await rows_of_decisions(tab) == [
                ("scheduled", "default/before", "leader, attempt 1"),
                ("scheduled", "default/after", "leader, attempt 1"),
            ]


async def test_the_attempts_of_a_pod_and_their_matrices(browser: Any, tmp_path: Path) -> None:
    async with running(tmp_path, nodes=0, objects=manifests(NODES)) as cluster:
        await one_attempt_each(cluster)
        async with (
            serving(tmp_path, leader=SchedulerAddress()) as page,
            visit(browser, page) as tab,
        ):
            await tab.goto(f"{page.origin}/#/pod/default/huge")
            place = tab.locator("#place")
            await place.get_by_text("unschedulable for").wait_for()
            await second_attempt(cluster)
            # The view is updated: the pod has left the queue and has another attempt.
            await tab.get_by_text("The pod is on").wait_for()
            assert await place.count() == 0
            path = "/explain/v1/namespaces/default/pods/huge?attempt="
            told = [await cluster.get(f"{path}{number}") for number in (2, 1)]
            _, *rows = await texts(tab, "#attempts")
            assert [(row[0].split()[0], *row[2:]) for row in rows] == [
                ("2", "scheduled", "large", ""),
                ("1", "unschedulable", "", told[1]["message"]),
            ]
            await tab.goto(f"{page.origin}/#/pod/default/web")
            await tab.locator("#scores").wait_for()
            web = await cluster.get("/explain/v1/namespaces/default/pods/web?attempt=1")
            _, *rows = await texts(tab, "#scores")
            shown = {row[0].split()[0]: row[1:] for row in rows}
            assert shown == {
                node: [str(web["totals"][at]), *(_score(one, at) for one in web["scorePlugins"])]
                for at, node in enumerate(web["nodes"])
                if web["totals"][at] is not None
            }
            # An earlier attempt opens by its number, with what was recorded then.
            await tab.goto(f"{page.origin}/#/pod/default/huge")
            await tab.locator("#attempts").get_by_role("link", name="1", exact=True).click()
            await tab.locator(".lead").get_by_text("Attempt 1").wait_for()
            head, *rows = await texts(tab, "#filters")
            first = {one["name"]: one["verdicts"] for one in told[1]["filterPlugins"]}
            for row in rows:
                at = told[1]["nodes"].index(row[0])
                for said, plugin in zip(row[1:], head[1:], strict=True):
                    code = first[plugin][at]
                    reasons = None if code is None else told[1]["statuses"][code]["reasons"]
                    assert said == ("not recorded" if reasons is None else ", ".join(reasons))
            assert sorted(row[0] for row in rows) == ["blue", "green", "red"]


def _score(plugin: dict[str, Any], at: int) -> str:
    raw, normalized = plugin["raw"][at], plugin["normalized"][at]
    return str(raw) if raw == normalized else f"{raw} → {normalized}"


async def test_the_page_says_whose_rules_are_shown(browser: Any, tmp_path: Path) -> None:
    config = tmp_path / "mine.yaml"
    config.write_text(WEIGHTS)
    async with running(tmp_path, nodes=0, objects=manifests(NODES)) as cluster:
        await one_attempt_each(cluster)
        async with (
            serving(tmp_path, leader=SchedulerAddress(), config=config) as page,
            visit(browser, page) as tab,
        ):
            await tab.goto(f"{page.origin}/#/pod/default/web")
            await tab.locator("#whose-rules").get_by_text("by its own rules").wait_for()
            assert await tab.locator("#rule-differences").inner_text() == (
                "The rules of the leader are shown. Those of mine.yaml differ: TaintToleration "
                "has the weight 3 there and 9 here."
            )
            await tab.get_by_role("link", name="Ask now, by the rules of mine.yaml").click()
            await tab.locator("#whose-rules").get_by_text("the rules of mine.yaml.").wait_for()
            assert await tab.locator("#rule-differences").count() == 0
            head, *_ = await texts(tab, "#scores")
            assert "TaintToleration \N{MULTIPLICATION SIGN} 9" in head
            await tab.get_by_role("link", name="The attempts of the leader").click()
            await tab.locator("#attempts").wait_for()


async def test_a_user_without_the_right_to_the_decisions(browser: Any, tmp_path: Path) -> None:
    async with running(tmp_path, nodes=0, objects=manifests(NODES)) as cluster:
        await one_attempt_each(cluster)
        await give_rights(cluster, READER, tmp_path)
        async with (
            serving(tmp_path, kubeconfig="limited", leader=SchedulerAddress()) as page,
            visit(browser, page) as tab,
        ):
            await tab.get_by_role("link", name="Decisions").click()
            line = tab.locator("#leader")
            await line.get_by_text("The leader does not tell its decisions").wait_for()
            await line.get_by_text("get /explain/* is needed").wait_for()
            await tab.get_by_text("No decision was seen since mooring ui started").wait_for()
            await second_attempt(cluster)
            await tab.get_by_role("row").filter(has_text="API objects").wait_for()
            # The attempts of a pod that the user may get are shown.
            await tab.get_by_role("link", name="default/huge").click()
            await tab.locator("#attempts").get_by_text("scheduled", exact=True).wait_for()


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        pytest.param("", "this cluster runs no scheduler", id="no scheduler"),
        pytest.param(
            "https://127.0.0.1:1", "there is no Lease kube-system/kube-scheduler", id="no lease"
        ),
    ],
)
async def test_a_cluster_without_a_leader(
    browser: Any, url: str, reason: str, tmp_path: Path
) -> None:
    async with running(tmp_path, nodes=1, plan=None) as cluster:
        await cluster.post(PODS, pod("web"))
        address = SchedulerAddress(url=url)
        async with serving(tmp_path, leader=address) as page, visit(browser, page) as tab:
            await tab.get_by_role("link", name="Decisions").click()
            line = tab.locator("#leader")
            await line.get_by_text(reason).wait_for()
            await tab.goto(f"{page.origin}/#/pod/default/web")
            await tab.locator("#whose-rules").get_by_text("default configuration").wait_for()
            await line.get_by_text("Decisions are those that this page sees.").wait_for()
            assert await tab.locator("#attempts").count() == 0


async def test_a_busy_leader_is_asked_again_at_the_time_it_names(
    browser: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(questions, "SECONDS", 4.0)
    monkeypatch.setattr(leader_link, "QUESTION_SECONDS", 0.0)
    async with running(tmp_path, nodes=0, objects=manifests(NODES)) as cluster:
        await one_attempt_each(cluster)
        async with (
            serving(tmp_path, leader=SchedulerAddress()) as page,
            visit(browser, page) as tab,
        ):
            # Other clients have used up the questions of this second.
            for _ in range(questions.QUESTIONS):
                await cluster.get("/explain/v1/namespaces/default/pods/huge?attempt=0")
            await tab.goto(f"{page.origin}/#/pod/default/huge")
            await tab.get_by_role("alert").get_by_text("too many questions already").wait_for()
            await tab.locator("#attempts").wait_for()
            assert await tab.get_by_role("alert").count() == 0


class Rude(Plugin):
    """A plugin whose reasons look like HTML."""

    def filter(self, state: Any, pod: Any, node: Any) -> Status | None:
        """Refuse."""
        return Status.unschedulable(MARKUP)


async def test_texts_of_the_leader_never_become_html(browser: Any, tmp_path: Path) -> None:
    async with running(tmp_path, nodes=1, plan=plan(plugins=[Rude])) as cluster:
        await cluster.post(PODS, pod("web"))
        await cluster.until(f"{PODS}/web", lambda found: found["status"].get("conditions"))
        async with (
            serving(tmp_path, leader=SchedulerAddress()) as page,
            visit(browser, page) as tab,
        ):
            await tab.get_by_role("link", name="Decisions").click()
            # Any event makes the scheduler try again.
            await tab.locator("#decisions").get_by_text(MARKUP).first.wait_for()
            await tab.get_by_role("link", name="leader, attempt 1").click()
            await tab.locator("#attempts").get_by_text(MARKUP).first.wait_for()
            await tab.locator("#rule-differences").get_by_text("the filter Rude").wait_for()
            assert await tab.locator("#planted").count() == 0
            assert await tab.locator("main img").count() == 0
            assert await tab.title() == "Mooring"


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_reports_of_the_leader_can_be_read(browser: Any, scheme: str, tmp_path: Path) -> None:
    async with running(tmp_path, nodes=0, objects=manifests(NODES)) as cluster:
        await one_attempt_each(cluster)
        options = {"color_scheme": scheme, "bypass_csp": True}
        async with (
            serving(tmp_path, leader=SchedulerAddress()) as page,
            visit(browser, page, **options) as tab,
        ):
            for place, wanted in (
                ("decisions", "#decisions"),
                ("queue", "#pending"),
                ("pod/default/huge", "#attempts"),
                ("pod/default/web/1", "#scores"),
                ("pod/default/web/now", "#scores"),
            ):
                await tab.goto(f"{page.origin}/#/{place}")
                await tab.locator(wanted).wait_for()
                assert await serious_findings(tab) == [], place


async def test_the_keyboard_opens_an_attempt(browser: Any, tmp_path: Path) -> None:
    async with running(tmp_path, nodes=0, objects=manifests(NODES)) as cluster:
        await one_attempt_each(cluster)
        async with (
            serving(tmp_path, leader=SchedulerAddress()) as page,
            visit(browser, page) as tab,
        ):
            await tab.goto(f"{page.origin}/#/decisions")
            await tab.locator("#decisions").wait_for()
            name = "() => document.activeElement.innerText"
            for _ in range(40):
                await tab.keyboard.press("Tab")
                if await tab.evaluate(name) == "leader, attempt 1":
                    break
            await tab.keyboard.press("Enter")
            await tab.locator("#attempts").wait_for()
            assert await tab.evaluate("() => document.activeElement.id") == "main"
