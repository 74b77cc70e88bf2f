"""Nominations that plugins change, as taps hear of them."""

from __future__ import annotations

from mooring.framework.features import FeatureGates
from mooring.framework.pod_info import PodInfos
from mooring.observe.attempt_random import AttemptRandom
from mooring.queue.nominator import PodNominator
from mooring.scheduler.tapped_nominator import TappedNominator
from mooring.scheduler.taps import SilentTap, make_taps
from mooring.testing.builders import make_pod


class Listener(SilentTap):
    """A tap that keeps what it hears."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, str]] = []

    def nominated(self, uid: str, node_name: str) -> None:
        """Keep a nomination."""
        self.heard.append((uid, node_name))


def test_what_plugins_change_is_told() -> None:
    listener, inner = Listener(), PodNominator(PodInfos(FeatureGates()))
    taps = make_taps([listener], AttemptRandom(1))
    assert taps is not None and taps.hears_nominations
    nominator = TappedNominator(inner, taps)
    pod = make_pod("web")
    uid = pod.metadata.uid
    nominator.add(pod, "node")
    assert [info.uid for info in nominator.nominated_on("node")] == [uid]
    assert (nominator.node_of(uid), list(nominator.nodes())) == ("node", ["node"])
    assert nominator.version == inner.version
    assert nominator.changed_since(0) == ["node"]
    nominator.delete(uid)
    nominator.delete(uid)
    assert listener.heard == [(uid, "node"), (uid, "")]
