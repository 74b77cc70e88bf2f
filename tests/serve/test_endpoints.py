"""The pages and what they show."""

from __future__ import annotations

import json
import ssl

import aiohttp
import pytest
from aiohttp.test_utils import make_mocked_request

from mooring.errors import ApiError
from mooring.observe.clock import SystemClock
from mooring.serve.endpoints import Endpoints
from tests.serve.explaining import DECISIONS, POD
from tests.serve.fake_api import FakeApi
from tests.serve.sites import Site, World


async def test_resources_are_shown_by_the_leader(
    site: Site, admin: ssl.SSLContext, world: World
) -> None:
    status, text, _ = await site.ask("/metrics/resources", context=admin)
    assert status == 200
    assert 'kube_pod_resource_request{namespace="default"' in text
    world.leads = False
    assert (await site.ask("/metrics/resources", context=admin))[:2] == (200, "")


async def test_the_other_pages(site: Site, admin: ssl.SSLContext) -> None:
    assert (await site.ask("/configz", context=admin))[1] == (
        '{"componentconfig":{"kind":"KubeSchedulerConfiguration","parallelism":5}}'
    )
    assert "\nv 2\n" in (await site.ask("/flagz", context=admin))[1]
    accept = "application/json;v=v1beta1;g=config.k8s.io;as=Flagz"
    assert '"flags":{"v":"2"}' in (await site.ask("/flagz", context=admin, Accept=accept))[1]
    statusz = (await site.ask("/statusz", context=admin))[1]
    assert "Paths: /configz /flagz /healthz /livez /metrics /readyz" in statusz
    accept = accept.replace("Flagz", "Statusz")
    page = (await site.ask("/statusz", context=admin, Accept=accept))[1]
    assert '"binaryVersion":"1.37.1"' in page
    yaml = accept.replace("json", "yaml").replace("v1beta1", "v1alpha1")
    _, page, headers = await site.ask("/statusz", context=admin, Accept=yaml)
    assert "\nbinaryVersion: 1.37.1\n" in page
    assert headers["Content-Type"] == "application/yaml;g=config.k8s.io;v=v1alpha1;as=Statusz"
    assert "deprecated" in headers["Warning"]
    refused, page, headers = await site.ask("/statusz", context=admin, Accept="image/png")
    assert (refused, headers["Content-Type"]) == (406, "application/json")
    assert "only the following media types are accepted" in page
    slis = (await site.ask("/metrics/slis", context=admin))[1]
    assert "process_start_time_seconds" in slis
    one = await site.ask("/readyz/sched-handler-sync", context=admin)
    assert one[:2] == (500, "internal server error: handlers are not fully synchronized\n")
    assert (await site.ask("/readyz/nothing", context=admin))[0] == 404


@pytest.mark.parametrize(
    ("method", "data", "status", "text"),
    [
        ("PUT", "5", 200, "successfully set klog.logging.verbosity to 5\n"),
        ("PUT", "abc", 400, 'strconv.ParseUint: parsing "abc": invalid syntax\n'),
        (
            "PUT",
            "99999999999",
            400,
            'strconv.ParseUint: parsing "99999999999": value out of range\n',
        ),
        ("GET", "", 406, "unsupported http method\n"),
    ],
)
async def test_the_verbosity_is_changed(
    site: Site, admin: ssl.SSLContext, world: World, method: str, data: str, status: int, text: str
) -> None:
    answer = await site.ask("/debug/flags/v", context=admin, method=method, data=data)
    assert answer[:2] == (status, text)
    assert world.verbosity == (5 if status == 200 else 0)
    assert "<tr>v<br>" in (await site.ask("/debug/flags", context=admin))[1]


@pytest.mark.parametrize("path", ["/debug/flags/v", "/flagz", "/statusz"])
async def test_pages_may_be_switched_off(world: World, path: str) -> None:
    request = make_mocked_request("GET", path)
    for is_on, status in ((True, 200), (False, 404)):
        sources = world.sources(profiling=is_on, flagz=is_on, statusz=is_on)
        answer = await Endpoints(sources, SystemClock()).answer(request)
        assert answer.status == (406 if is_on and path == "/debug/flags/v" else status)


async def test_explanations_are_for_those_who_may_read_them(
    site: Site, admin: ssl.SSLContext, api: FakeApi
) -> None:
    status, page, headers = await site.ask(POD, context=admin)
    assert (status, json.loads(page)["name"]) == (200, "web")
    assert headers["Content-Type"] == "application/json"
    assert headers["X-Content-Type-Options"] == "nosniff"
    allowed, denied = {"status": {"allowed": True}}, {"status": {}}
    jane = {"status": {"authenticated": True, "user": {"username": "jane"}}}
    # The path, the pod, nodes; then the pods that are mentioned, by namespace and by name.
    api.answers = [jane, denied, allowed, denied, denied, denied, denied, allowed]
    status, page, _ = await site.ask(POD, token="t")
    assert (status, json.loads(page)["message"]) == (
        200,
        "taken by another pod on node 1, not on node 2; shop/cart is there",
    )
    assert api.answers == []
    api.answers = [jane, denied, denied]
    status, page, _ = await site.ask(POD, token="t")
    assert (status, json.loads(page)["reason"]) == (403, "Forbidden")
    api.answers = [jane, ApiError(403, "no reviews")]
    assert (await site.ask(POD, token="t"))[0] == 500


async def test_decisions_are_followed(site: Site, admin: ssl.SSLContext, world: World) -> None:
    world.scheduler.add(1)
    async with (
        aiohttp.ClientSession() as session,
        session.get(
            f"{site.url}{DECISIONS}?since=0", ssl=admin, headers={"Last-Event-ID": ""}
        ) as response,
    ):
        assert response.headers["Content-Type"] == "text/event-stream"
        assert await response.content.readuntil(b"\n\n") == b":\n\n"
        assert (await response.content.readuntil(b"\n\n")).startswith(b"id: 1\n")
        world.scheduler.add(2)
        assert (await response.content.readuntil(b"\n\n")).startswith(b"id: 2\n")


async def test_the_insecure_port_explains_nothing(world: World) -> None:
    endpoints = Endpoints(world.sources(), SystemClock())
    answer = await endpoints.answer(make_mocked_request("GET", POD))
    assert answer.status == 404
    assert world.scheduler.asked == []
