"""Informers whose changes taps hear of, through any of the names of a kind."""

from __future__ import annotations

from typing import Any

from mooring.api import Pod
from mooring.observe.attempt_random import AttemptRandom
from mooring.scheduler.inbox import Inbox
from mooring.scheduler.tapped_informers import TappedInformers
from mooring.scheduler.taps import SilentTap, Taps
from tests.app.world import Informer, make_pod


class OneInformer:
    """The same informer, whatever the kind."""

    def __init__(self) -> None:
        self.one = Informer()

    def informer(self, kind: Any) -> Informer:
        return self.one


def test_a_kind_that_has_two_names_is_heard_of_once() -> None:
    heard: list[tuple[Any, ...]] = []

    class Hearing(SilentTap):
        def changed(self, kind: Any, old: Any, new: Any) -> None:
            heard.append((kind, old, new))

    inbox, inner = Inbox(), OneInformer()
    informers = TappedInformers(inner, inbox, Taps([Hearing()], AttemptRandom(1)))
    assert informers.informer(Pod) is informers.informer("pods.v1.") is inner.one
    first, second = make_pod("p"), make_pod("p")
    inner.one.store.add(first)
    inner.one.store.add(second)
    inner.one.store.delete("p", "default")
    assert heard == []
    inbox.drain()
    assert heard == [(Pod, None, first), (Pod, first, second), (Pod, second, None)]
