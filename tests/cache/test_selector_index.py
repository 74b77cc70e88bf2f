"""Which selectors could match a pod."""

from __future__ import annotations

from mooring.api.labels import Requirement, Selector
from mooring.cache.selector_index import SelectorIndex
from tests.support.growth import assert_linear


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
