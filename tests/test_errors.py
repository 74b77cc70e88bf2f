"""The exceptions and what they say."""

from __future__ import annotations

import pytest

from mooring.errors import ApiError, ConfigError, MooringError, ObjectError, PluginError


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (
            ConfigError("bad", path="profiles[0]", file="c.yaml", line=10, column=17),
            "c.yaml:10:17: profiles[0]: bad",
        ),
        (ConfigError("bad"), "bad"),
        (
            ObjectError("bad", path="spec", file="p.yaml", document=2, line=3),
            "p.yaml:3: document 2: spec: bad",
        ),
        (ObjectError("bad", document=2), "document 2: bad"),
        (
            ApiError(404, "no such pod", reason="NotFound", method="GET", url="/api/v1/pods/x"),
            "GET /api/v1/pods/x: 404 NotFound: no such pod",
        ),
        (ApiError(500), "500"),
        (
            PluginError("bad", plugin="P", point="filter", node="n"),
            "plugin P, point filter, node n: bad",
        ),
        (PluginError("bad", plugin="P"), "plugin P: bad"),
    ],
    ids=str,
)
def test_an_error_says_where_it_happened(error, text):
    assert str(error) == text
    assert isinstance(error, MooringError)


def test_a_place_is_filled_in_without_losing_what_was_known():
    error = ObjectError("bad", path="spec").at(file="f", document=1)
    assert str(error) == "f: document 1: spec: bad"
    assert str(error.at(path="metadata", line=4)) == "f:4: document 1: metadata: bad"
