"""Fingerprints of pods are those of the agents on the nodes."""

from __future__ import annotations

import pytest

from mooring.contrib.node_resource_topology.fingerprint import fingerprint, xxh64


@pytest.mark.parametrize(
    ("data", "seed", "wanted"),
    [
        (b"", 0, 0xEF46DB3751D8E999),
        (b"a", 0, 0xD24EC4F1A98C6E5B),
        (b"abc", 0, 0x44BC2CF5AD770999),
        (b"Nobody inspects the spammish repetition", 0, 0xFBCEA83C8A378BF1),
        (b"", 1, 0xD5AFBA1336A3BE4B),
    ],
)
def test_xxh64(data: bytes, seed: int, wanted: int) -> None:
    assert xxh64(data, seed) == wanted


def test_the_order_of_pods_does_not_matter() -> None:
    pods = [("default", "a"), ("default", "b"), ("kube-system", "c")]
    assert fingerprint(pods) == fingerprint(reversed(pods))


def test_a_fingerprint_that_an_agent_made() -> None:
    assert fingerprint([("default", "a")]) == "pfp0v00173ac1f6debaedf3d"
    assert fingerprint([]) == "pfp0v001ef46db3751d8e999"
