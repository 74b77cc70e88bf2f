"""Sets of field paths."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mooring.apiserver.patch.field_set import FieldSet, path_text

FIELDS = {
    "f:metadata": {"f:labels": {".": {}, "f:a": {}}},
    "f:spec": {"f:containers": {'k:{"name":"c"}': {".": {}, "f:image": {}}}, "f:x": {}},
}


def test_fields_v1_survives_the_way_there_and_back() -> None:
    assert FieldSet.from_fields(FIELDS).to_fields() == FIELDS


def test_paths_are_printed_as_conflicts_show_them() -> None:
    path = ("f:spec", "f:ports", 'k:{"containerPort":80,"protocol":"TCP"}', "f:name")
    assert path_text(path) == '.spec.ports[containerPort=80,protocol="TCP"].name'
    assert path_text(("f:metadata", "f:finalizers", 'v:"x"')) == '.metadata.finalizers[="x"]'


def test_without_takes_what_is_below_too() -> None:
    left = FieldSet.from_fields(FIELDS).without(FieldSet.of(("f:spec",)))
    assert left.to_fields() == {"f:metadata": FIELDS["f:metadata"]}


PATHS = st.lists(st.sampled_from(["f:a", "f:b", "f:c"]), min_size=1, max_size=3).map(tuple)
SETS = st.lists(PATHS, max_size=6).map(lambda paths: FieldSet.of(*paths))


@given(SETS, SETS)
def test_the_algebra_is_that_of_sets(left: FieldSet, right: FieldSet) -> None:
    mine, theirs = set(left.paths()), set(right.paths())
    assert set(left.union(right).paths()) == mine | theirs
    assert set(left.intersection(right).paths()) == mine & theirs
    assert set(left.difference(right).paths()) == mine - theirs
    assert left.difference(right).empty() == (mine <= theirs)
    assert FieldSet.from_fields(left.to_fields()).to_fields() == left.to_fields()
    assert all(left.has(path) for path in mine)
