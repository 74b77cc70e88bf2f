"""The columns of hosts say what counting pod by pod says."""

from __future__ import annotations

import random

import pytest

from mooring.api import Pod
from mooring.contrib.sysched.hosts import Hosts
from mooring.testing import make_pod


def _slow_score(pods: list[int], new: int) -> int:
    together = 0
    for one in pods:
        together |= one
    if not pods:
        return 0
    return (together & ~new).bit_count() + sum(
        ((together | new) & ~one).bit_count() for one in pods
    )


@pytest.mark.parametrize("seed", range(10))
def test_scores(seed: int) -> None:
    rng = random.Random(seed)
    calls = {f"p{index}": rng.getrandbits(12) for index in range(60)}
    hosts = Hosts(lambda pod: calls[pod.name])
    running: dict[str, dict[str, Pod]] = {}
    for name in calls:
        pod = make_pod(name, node=f"n{rng.randrange(70)}")
        hosts.add(pod)
        running.setdefault(pod.node_name, {})[name] = pod
        new = rng.choice((0b1011, 0b1, 0xFFF))
        scores = hosts.scores(new)
        for host, pods in running.items():
            assert scores[hosts.slot(host)] == _slow_score([calls[one] for one in pods], new)
        if rng.random() < 0.4:
            host = rng.choice(sorted(host for host, pods in running.items() if pods))
            hosts.remove(running[host].popitem()[1])


def test_pods_of_one_name_count_once_and_go_together() -> None:
    hosts = Hosts(lambda pod: 0b11)
    hosts.add(make_pod("same", namespace="a", node="n"))
    hosts.add(make_pod("same", namespace="b", node="n"))
    assert hosts.scores(0b1)[hosts.slot("n")] == 1
    hosts.remove(make_pod("same", namespace="b", node="n"))
    assert hosts.scores(0b1)[hosts.slot("n")] == 0


def test_calls_can_be_counted_again() -> None:
    calls = {"p": 0b1}
    hosts = Hosts(lambda pod: calls[pod.name])
    hosts.add(make_pod("p", node="n"))
    calls["p"] = 0b111
    hosts.count_all()
    assert hosts.scores(0b1)[hosts.slots(["n"])].tolist() == [2]
