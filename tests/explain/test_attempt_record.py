"""Records of attempts as JSON."""

from __future__ import annotations

import msgspec

from mooring.explain.attempt_record import AttemptRecord

LEAST = {
    "sequence": 1,
    "time": 5.0,
    "namespace": "shop",
    "name": "web-1",
    "uid": "u",
    "profile": "default-scheduler",
    "attempt": 4,
    "outcome": "unschedulable",
}


def test_what_is_empty_is_left_out() -> None:
    record = msgspec.convert(LEAST, AttemptRecord)
    assert record.key == "shop/web-1"
    assert msgspec.to_builtins(record) == LEAST


def test_names_are_those_of_kubernetes_fields() -> None:
    record = msgspec.convert({**LEAST, "samplingStart": 7, "podGroup": "shop/g"}, AttemptRecord)
    assert (record.sampling_start, record.pod_group) == (7, "shop/g")
