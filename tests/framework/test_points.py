"""The catalogue of extension points."""

from __future__ import annotations

import pytest

from mooring.framework.points import (
    CONFIGURABLE_POINTS,
    METHODS,
    POINT_BY_KEY,
    Method,
    Point,
    points_of,
    takes_all,
)


def test_keys_labels_and_method_names_are_unique():
    keys = [point.key for point in CONFIGURABLE_POINTS]
    assert len(keys) == len(set(keys))
    assert len({point.label for point in Point}) == len(Point)
    methods = [
        method.name for point in Point for method in (*point.value.methods, *point.value.extensions)
    ]
    assert len(methods) == len(set(methods)) == len(METHODS)


def test_points_are_found_by_the_key_of_the_file():
    assert POINT_BY_KEY["preFilter"] is Point.PRE_FILTER
    assert "" not in POINT_BY_KEY
    assert Point.SIGN not in CONFIGURABLE_POINTS


def test_every_point_is_described():
    for point in Point:
        assert point.value.description.endswith(".")
        for method in (*point.value.methods, *point.value.extensions):
            assert method.description.endswith(".")
            assert 0 <= method.required <= len(method.parameters)


def test_a_method_as_its_author_writes_it():
    assert Method("filter", ("state", "pod"), "", "").signature == "filter(state, pod)"
    assert Method("close", (), "", "").signature == "close()"


class Everything:
    def filter(self, state, pod, node): ...

    def score_nodes(self, state, pod, nodes): ...

    def add_pod(self, state, pod, other, node): ...

    pre_filter = None


def test_a_class_takes_part_in_the_points_whose_methods_it_has():
    assert points_of(Everything) == {Point.FILTER, Point.SCORE}
    assert points_of(object) == frozenset()


@pytest.mark.parametrize(
    ("function", "takes"),
    [
        pytest.param(lambda a, b: None, True, id="as many"),
        pytest.param(lambda *args: None, True, id="any number"),
        pytest.param(lambda a, b, c=None: None, True, id="more that are optional"),
        pytest.param(lambda a: None, False, id="too few"),
        pytest.param(lambda a, b, c: None, False, id="too many"),
        pytest.param(lambda a, *, b: None, False, id="by keyword only"),
        pytest.param(dict.fromkeys, True, id="written in C, with a signature"),
        pytest.param(type, False, id="written in C, without one"),
    ],
)
def test_whether_a_function_takes_all_parameters(function, takes):
    assert takes_all(Method("m", ("one", "two"), "", ""), function) is takes


def test_the_arguments_before_count_too():
    assert takes_all(Method("m", ("one",), "", ""), lambda self, one: None, "self")
    assert not takes_all(Method("m", ("one",), "", ""), lambda one: None, "self")
