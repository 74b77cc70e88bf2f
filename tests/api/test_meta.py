"""Metadata and times."""

from __future__ import annotations

import pytest

from mooring.api.meta import ObjectMeta, parse_time, parse_time_ns
from mooring.api.workloads import Namespace
from mooring.errors import ObjectError


@pytest.mark.parametrize(
    ("text", "nanos"),
    [
        pytest.param("1970-01-01T00:00:00Z", 0, id="the epoch"),
        pytest.param("2024-02-29T12:00:00Z", 1709208000 * 10**9, id="a leap day"),
        pytest.param("1970-01-01T00:00:00.000001Z", 1000, id="a MicroTime"),
        pytest.param("1970-01-01T00:00:00.123456789123Z", 123456789, id="finer than a nanosecond"),
        pytest.param("1970-01-01T02:00:00+02:00", 0, id="an offset to the east"),
        pytest.param("1969-12-31T19:00:00-05:00", 0, id="an offset to the west"),
    ],
)
def test_times_are_read(text, nanos):
    assert parse_time_ns(text) == nanos
    assert parse_time(text) == nanos / 1e9


@pytest.mark.parametrize("text", ["", "yesterday", "2024-01-01", "2024-13-01T00:00:00Z", "24"])
def test_a_malformed_time_is_refused(text):
    with pytest.raises(ObjectError, match="time"):
        parse_time(text)


def test_a_cluster_scoped_object_is_its_name():
    namespace = Namespace(metadata=ObjectMeta(name="n", labels={"a": "b"}))
    assert (namespace.key, namespace.labels, namespace.annotations) == ("n", {"a": "b"}, {})
    with pytest.raises(AttributeError):
        namespace.metadata = ObjectMeta()
