"""The result of a conversion."""

from __future__ import annotations

import pytest

from mooring.api.field_errors import FieldError
from mooring.config.convert.converted import Conversion, Converted, to_yaml


@pytest.mark.parametrize(
    ("path", "origin"),
    [
        pytest.param("parallelism", "parallelism", id="what did not move"),
        pytest.param("profiles[0].plugins.filter", "plugins.filter", id="what moved to the top"),
        pytest.param("profiles[0].plugins.reserve", "plugins.unreserve", id="what was renamed"),
        pytest.param(
            "profiles[0].plugins.reserve.enabled[1].name",
            "plugins.unreserve.enabled[1].name",
            id="what is below a renamed key",
        ),
        pytest.param("", "", id="the document"),
    ],
)
def test_a_v1_path_leads_back_to_the_original(path: str, origin: str) -> None:
    origins = {"profiles[0]": "", "profiles[0].plugins.reserve": "plugins.unreserve"}
    assert Converted({}, [], [], origins).origin(path) == origin


def test_the_first_warning_shows_the_v1_form() -> None:
    conversion = Conversion()
    conversion.warn("a", "less than before")
    found = conversion.finish({"b": [1]}, "v0 is old")
    assert found.warnings == ["v0 is old; its v1 form is:\n\nb:\n- 1\n", "a: less than before"]
    assert (found.doc_v1, found.errors) == ({"b": [1]}, [])


def test_a_refused_document_has_no_v1_form() -> None:
    conversion = Conversion()
    conversion.warn("", "about all of it")
    conversion.refuse("a", "gone")
    found = conversion.finish({"b": 1}, "v0 is old")
    assert found.doc_v1 == {}
    assert found.warnings == ["about all of it"]
    assert found.errors == [FieldError("a", "gone")]


def test_warnings_and_errors_are_told_once() -> None:
    conversion = Conversion()
    for _ in range(2):
        conversion.warn("a", "careful")
        conversion.refuse("a", "gone")
    assert (len(conversion.warnings), len(conversion.errors)) == (1, 1)


def test_yaml_keeps_the_order_and_repeats_what_is_shared() -> None:
    shared = [1]
    assert to_yaml({"z": shared, "a": shared}) == "z:\n- 1\na:\n- 1\n"
