"""Types with the sizes of their values."""

from __future__ import annotations

import pytest

from mooring.cel.declared import (
    Declared,
    declared_list,
    declared_map,
    declared_object,
    object_fields,
    sizes_below,
)
from mooring.cel.estimates import Range
from mooring.cel.types import BOOL, DYN, STRING

NAME = Declared(STRING, 63)
TAGS = declared_list(Declared(STRING, 20), 5)
LABELS = declared_map(Declared(STRING, 40), NAME, 9)
INNER = declared_object("Inner", {"flag": Declared(BOOL)})
ROOT = declared_object(
    "Root",
    {"name": NAME, "tags": TAGS, "labels": LABELS, "inners": declared_list(INNER, 3)},
)


def test_the_types_of_lists_maps_and_objects() -> None:
    assert [one.type.text for one in (TAGS, LABELS, ROOT)] == [
        "list(string)",
        "map(string, string)",
        "Root",
    ]
    assert (TAGS.min_size, LABELS.min_size, ROOT.min_size) == (2, 2, 2)


def test_the_fields_of_every_object_inside() -> None:
    found = object_fields(declared_map(NAME, ROOT, 2))
    assert set(found) == {"Root", "Inner"}
    assert found["Inner"] == {"flag": BOOL}
    assert found["Root"]["labels"].text == "map(string, string)"


@pytest.mark.parametrize(
    ("path", "size"),
    [
        pytest.param(("self", "name"), 63, id="a field"),
        pytest.param(("self", "tags"), 5, id="a list"),
        pytest.param(("self", "tags", "@items"), 20, id="the elements of a list"),
        pytest.param(("self", "labels", "@keys"), 40, id="the keys of a map"),
        pytest.param(("self", "labels", "@values"), 63, id="the values of a map"),
        pytest.param(("self", "inners", "@items", "flag"), 0, id="a field of an element"),
        pytest.param((), None, id="no path"),
        pytest.param(("other", "name"), None, id="another variable"),
        pytest.param(("self", "missing"), None, id="a field that does not exist"),
        pytest.param(("self", "name", "@items"), None, id="elements of what has none"),
        pytest.param(("self", "name", "@items", "@items"), None, id="elements below nothing"),
        pytest.param(("self", "labels", "some"), None, id="one key of a map"),
    ],
)
def test_the_size_at_a_path(path: tuple[str, ...], size: int | None) -> None:
    assert sizes_below(ROOT, "self")(path) == (None if size is None else Range(0, size))


def test_without_a_variable_any_first_name_is_the_root() -> None:
    assert sizes_below(ROOT)(("oldSelf", "name")) == Range(0, 63)


def test_a_map_of_any_key_has_every_name() -> None:
    domain = declared_map(NAME, Declared(DYN, 7), 9)
    domains = declared_map(NAME, domain, 4)
    sizes = sizes_below(domains, "device", any_key=domain)
    assert sizes(("device", "example.com")) == Range(0, 9)
    assert sizes(("device", "example.com", "@values")) == Range(0, 7)
