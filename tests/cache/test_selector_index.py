"""Selectors by what they require."""

from __future__ import annotations

import tracemalloc

import pytest

from mooring.api.labels import NOTHING, Requirement, Selector
from mooring.cache.selector_index import SelectorIndex
from tests.support.growth import assert_linear

RED = frozenset({"red"})


def candidates(index: SelectorIndex[str], namespace: str, **labels: str) -> list[str]:
    found = list(index.candidates(namespace, labels))
    assert len(found) == len(set(found)), "an entry comes once"
    return sorted(found)


def filed(*entries: tuple[str, frozenset[str] | None, str]) -> SelectorIndex[str]:
    index: SelectorIndex[str] = SelectorIndex()
    for name, namespaces, selector in entries:
        index.add(name, namespaces, Selector.from_text(selector))
    return index


@pytest.mark.parametrize(
    ("namespaces", "selector", "could_match"),
    [
        (RED, "app=web", True),
        (None, "app=web", True),
        (RED, "app in (web,db)", True),
        (RED, "app!=db", True),
        (RED, "app", True),
        (RED, "", True),
        (None, "", True),
        (RED, "app!=db,app=web", True),
        (RED, "app=web,tier=front", True),
        (RED, "app=db", False),
        (frozenset({"blue"}), "app=web", False),
        (frozenset({"blue"}), "", False),
        (frozenset(), "", False),
    ],
)
def test_what_could_match_a_pod_is_found(
    namespaces: frozenset[str] | None, selector: str, could_match: bool
) -> None:
    index = filed(("one", namespaces, selector))
    assert candidates(index, "red", app="web", tier="front") == ["one"] * could_match


def test_what_matches_nothing_is_never_found() -> None:
    index: SelectorIndex[str] = SelectorIndex()
    index.add("one", None, NOTHING)
    assert candidates(index, "red", app="web") == []
    index.remove("one")
    assert len(index) == 0


def test_a_removed_entry_is_found_no_more() -> None:
    index = filed(("one", RED, "app in (web,db)"), ("two", RED, "app=web"), ("three", None, ""))
    index.remove("one")
    assert len(index) == 2
    assert candidates(index, "red", app="web") == ["three", "two"]
    assert candidates(index, "red", app="db") == ["three"]
    index.remove("two")
    index.remove("three")
    assert candidates(index, "red", app="web") == []


def test_an_entry_is_filed_under_its_rarest_demand() -> None:
    """Thousands of selectors share one label; a pod's candidates are only those that share all."""
    index = filed(*((f"s{number}", RED, f"tier=front,app=a{number}") for number in range(20)))
    # Of equally rare requirements the first is used, so one entry is stored under its tier.
    assert len(candidates(index, "red", tier="front", app="a7")) <= 2
    assert "s7" in candidates(index, "red", tier="front", app="a7")


def test_selectors_without_a_value_do_not_hide_those_behind_them() -> None:
    index = filed(("one", RED, "tier,app=web"))
    assert candidates(index, "red", app="db", tier="front") == []
    assert candidates(index, "red", app="web", tier="front") == ["one"]


def _values(count: int) -> Selector:
    return Selector([Requirement("app", "In", [f"v{i}" for i in range(count)])])


def test_an_entry_of_many_namespaces_and_values_is_found_once() -> None:
    index: SelectorIndex[str] = SelectorIndex()
    namespaces = frozenset(f"ns{i}" for i in range(100))
    index.add("entry", namespaces, _values(100))
    assert list(index.candidates("ns7", {"app": "v3"})) == ["entry"]
    assert list(index.candidates("ns7", {"app": "other"})) == []
    index.remove("entry")
    assert list(index.candidates("ns7", {"app": "v3"})) == []


def test_an_entry_of_many_namespaces_without_a_value_is_found_in_these_alone() -> None:
    index: SelectorIndex[str] = SelectorIndex()
    selector = Selector([Requirement("app", "Exists")])
    entry = "entry"
    index.add(entry, frozenset(f"ns{i}" for i in range(100)), selector)
    assert list(index.candidates("ns7", {})) == [entry]
    assert list(index.candidates("elsewhere", {})) == []


def test_filing_is_linear_in_namespaces_and_values() -> None:
    def prepare(count: int):
        index: SelectorIndex[str] = SelectorIndex()
        namespaces = frozenset(f"ns{i}" for i in range(count))
        selector = _values(count)
        return lambda: index.add("entry", namespaces, selector)

    assert_linear(prepare, 50)


@pytest.mark.parametrize(("count", "told_apart"), [(1, True), (16, True), (17, False)])
def test_up_to_sixteen_namespaces_are_told_apart(count: int, told_apart: bool) -> None:
    index: SelectorIndex[str] = SelectorIndex()
    index.add("one", frozenset(f"ns{i}" for i in range(count)), Selector.from_text("app=web"))
    assert candidates(index, "ns0", app="web") == ["one"]
    assert candidates(index, "elsewhere", app="web") == ([] if told_apart else ["one"])


def test_the_first_of_two_demands_that_are_as_rare_is_used() -> None:
    index = filed(("one", RED, "app=web,tier=front"))
    assert candidates(index, "red", app="web") == ["one"]
    assert candidates(index, "red", tier="front") == []


def test_nothing_is_left_of_entries_that_were_removed() -> None:
    index: SelectorIndex[str] = SelectorIndex()

    def come_and_go(numbers: range) -> None:
        for number in numbers:
            spaces = frozenset({f"ns-{number}"})
            index.add("one", spaces, Selector.from_map({"app": str(number)}))
            index.remove("one")

    come_and_go(range(100))
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        come_and_go(range(100, 2100))
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # A bucket takes more than 200 bytes.
    assert after - before < 100_000
