"""The log lines about a pod at --v=4: the same messages with the same keys."""

from __future__ import annotations

import re

import pytest

from tests.reference import scenario
from tests.reference.differences import idle, listed, unexpected
from tests.reference.scenario import Observed

LINE = re.compile(r'^[IWE]\d{4} \S+ +\d+ \S+\] "(?P<message>(?:[^"\\]|\\.)*)"(?P<rest>.*)$')
#: The keys of a line; `unschedulable plugins` contains a space.
KEY = re.compile(r' ((?:unschedulable )?\w+)=(?:"(?:[^"\\]|\\.)*"|\S+)')
PODS = (scenario.FOLLOWED, scenario.LARGE, scenario.URGENT)


def life(log: str, pod: str) -> set[str]:
    """Return the message and keys of every line about a pod."""
    found, left_out = set(), set(listed("log key"))
    for line in log.splitlines():
        match = LINE.match(line)
        if match and re.search(rf'="[\w-]+/{pod}"', match["rest"]):
            keys = sorted(set(KEY.findall(match["rest"])) - left_out)
            found.add(f"{match['message']}: {' '.join(keys)}")
    return found


@pytest.mark.parametrize("pod", PODS)
def test_a_pod_is_logged_alike(observed: tuple[Observed, Observed], pod: str) -> None:
    reference, ours = (life(side.log, pod) for side in observed)
    assert len(reference) > 5
    assert unexpected("log message", reference ^ ours) == []


def test_every_listed_difference_is_one(observed: tuple[Observed, Observed]) -> None:
    lives = [(life(observed[0].log, pod), life(observed[1].log, pod)) for pod in PODS]
    differing = set().union(*(reference ^ ours for reference, ours in lives))
    assert idle("log message", differing) == []
