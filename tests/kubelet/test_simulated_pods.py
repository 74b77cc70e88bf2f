"""Pods of Mooring's images that start no process."""

from __future__ import annotations

import pytest

from mooring.api import Pod
from mooring.api.kinds import decode_as
from mooring.kubelet import simulated_pods
from mooring.kubelet.image_contents import ImageContents
from mooring.kubelet.simulated_pods import SimulatedPods

MINE = ImageContents([("mine", "a.py:A")])
NAMED = ImageContents([("mooring", ""), ("mine", "a.py:A")])


def pod(*images: str, name: str = "p", uid: str = "u") -> Pod:
    containers = [{"name": f"c{place}", "image": image} for place, image in enumerate(images)]
    metadata = {"name": name, "namespace": "n", "uid": uid}
    return decode_as({"metadata": metadata, "spec": {"containers": containers}}, Pod)


def simulated(images: ImageContents, *, loaded: bool, run_loaded: bool = False) -> SimulatedPods:
    return SimulatedPods(images, lambda namespace, name, uid: loaded, run_loaded)


@pytest.mark.parametrize(
    ("images", "loaded", "run_loaded", "names", "runs", "missing"),
    [
        (ImageContents(), False, False, ("nginx",), False, ()),
        (ImageContents(), True, False, ("nginx",), False, ()),
        (ImageContents(), False, False, ("a/mooring:1",), False, ("--image mooring",)),
        (
            ImageContents(),
            True,
            False,
            ("mooring",),
            False,
            ("--image mooring", "--run-loaded-images"),
        ),
        (ImageContents(), True, True, ("mooring",), False, ("--image mooring",)),
        (NAMED, False, False, ("nginx", "mine"), True, ()),
        (NAMED, True, False, ("nginx", "mine"), False, ("--run-loaded-images",)),
        (NAMED, True, True, ("nginx", "mine"), True, ()),
        (MINE, False, False, ("mine", "mooring"), True, ("--image mooring",)),
    ],
)
def test_which_pods_run(
    images: ImageContents,
    loaded: bool,
    run_loaded: bool,
    names: tuple[str, ...],
    runs: bool,
    missing: tuple[str, ...],
) -> None:
    found = simulated(images, loaded=loaded, run_loaded=run_loaded)
    assert found.runs(pod(*names)) is runs
    assert found.missing(pod(*names)) == missing


def test_pods_are_counted_by_the_flags_that_they_lack() -> None:
    found = simulated(ImageContents(), loaded=False)
    assert found.note(pod("mooring")).endswith("start it with --image mooring to run them")
    assert found.note(pod("mooring")) == ""
    # Another pod of this name.
    assert found.note(pod("mooring", uid="v"))
    assert found.note(pod("mooring", name="q"))
    assert found.note(pod("nginx", name="r")) == ""
    assert found.counts() == {"--image mooring": 2}
    found.forget(("n", "q"))
    found.forget(("n", "r"))
    assert found.counts() == {"--image mooring": 1}


def test_events_are_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulated_pods, "MOST_TOLD", 2)
    found = simulated(ImageContents(), loaded=False)
    told = [bool(found.note(pod("mooring", name=str(place)))) for place in range(4)]
    assert told == [True, True, False, False]
    assert found.counts() == {"--image mooring": 4}
