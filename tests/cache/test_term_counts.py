"""Counts of pods by affinity term, and their sums for an incoming pod."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.api import Pod
from mooring.api.labels import NOTHING, Selector
from mooring.cache import term_counts
from mooring.cache.term_counts import RowAmounts, TermCounts
from mooring.framework.pod_info import AffinityTerm
from mooring.testing import make_pod

SIZE = 40
POD = make_pod("new", labels={"app": "web"})


def make_term(number: int, app: str = "web", key: str = "zone", weight: int = 0) -> AffinityTerm:
    """Return a term that differs from others by its number, and matches the pods of an app."""
    selector = Selector.from_text(f"app in ({app},other-{number})")
    return AffinityTerm(key, selector, frozenset(("default",)), NOTHING, weight)


def make_counts(*, weighted: bool = False) -> TermCounts:
    counts = TermCounts(SIZE, weighted=weighted)
    counts.set_size(SIZE, SIZE)
    return counts


def sums(counts: TermCounts, pod: Pod = POD) -> dict[str, tuple[list[int], list[int]]]:
    found = counts.sums(pod, {})
    return {key: (each.counts.tolist(), each.worth.tolist()) for key, each in found.items()}


def expected(counts: TermCounts, weighted: bool) -> dict[str, tuple[list[int], list[int]]]:
    """Add up the terms one by one."""
    totals: dict[str, tuple[list[int], list[int]]] = {}
    for found in counts.matching(POD, {}):
        pods, worth = totals.setdefault(found.term.topology_key, ([0] * SIZE, [0] * SIZE))
        for row, count in enumerate(found.counts.tolist()):
            pods[row] += count
            worth[row] += count * (found.term.weight if weighted else 1)
    return totals


@pytest.fixture
def matched(monkeypatch: pytest.MonkeyPatch) -> list[AffinityTerm]:
    """Return the terms that are compared with a pod, in order."""
    compared: list[AffinityTerm] = []
    real = AffinityTerm.matches

    def matches(term: AffinityTerm, pod: Pod, namespace_labels: dict[str, str]) -> bool:
        compared.append(term)
        return real(term, pod, namespace_labels)

    monkeypatch.setattr(AffinityTerm, "matches", matches)
    return compared


_ROWS = st.integers(0, SIZE - 1) | st.just("every row")


@given(
    st.lists(
        st.tuples(
            st.integers(0, 30),
            st.sampled_from(["web", "db"]),
            st.sampled_from(["zone", "host"]),
            _ROWS,
        ),
        min_size=1,
        max_size=20,
    ),
    st.booleans(),
    st.booleans(),
)
def test_sums_are_those_of_the_matching_terms(
    made: list[tuple[int, str, str, int | str]], weighted: bool, many: bool
) -> None:
    counts = make_counts(weighted=weighted)
    if many:
        for number in range(term_counts.FEW_TERMS + 1):
            counts.change(make_term(number, "db", "rack", weight=2), 1, 1)
    there: list[tuple[AffinityTerm, int]] = []
    for number, app, key, place in made:
        term = make_term(number, app, key, weight=1 + number)
        for row in range(SIZE) if isinstance(place, str) else [place]:
            there.append((term, row))
            counts.change(term, row, 1)
        assert sums(counts) == expected(counts, weighted)
    for term, row in there:
        counts.change(term, row, -1)
        assert sums(counts) == expected(counts, weighted)
    assert not counts.sums(POD, {})


def test_a_term_that_goes_is_left_out() -> None:
    counts = make_counts()
    terms = [make_term(number) for number in range(30)]
    for term in terms:
        counts.change(term, 3, 1)
    assert sums(counts)["zone"][0][3] == 30
    for gone, term in enumerate(terms, start=1):
        counts.change(term, 3, -1)
        assert sums(counts) == expected(counts, False)
        assert bool(counts.sums(POD, {})) == (gone < 30)


def test_required_terms_are_worth_as_much_as_one_another_and_preferred_ones_their_weight() -> None:
    for count in (1, 30):
        for weighted, worth in ((False, count), (True, 5 * count)):
            counts = make_counts(weighted=weighted)
            for number in range(count):
                counts.change(make_term(number, weight=5), 2, 1)
            assert sums(counts)["zone"][1][2] == worth


def test_pods_with_equal_labels_are_compared_with_each_term_once(
    matched: list[AffinityTerm],
) -> None:
    counts = make_counts()
    for number in range(2000):
        counts.change(make_term(number), 0, 1)
    for name in ("first", "second", "third"):
        assert sums(counts, make_pod(name, labels={"app": "web"}))["zone"][0][0] == 2000
    assert len(matched) == 2000
    # Only a term that is new is compared.
    matched.clear()
    counts.change(make_term(2000), 1, 1)
    assert sums(counts)["zone"][0][:2] == [2000, 1]
    assert matched == [make_term(2000)]
    # Other labels, or labels of the namespace, are another question.
    counts.sums(POD, {"team": "a"})
    assert len(matched) == 1 + 2001


@pytest.mark.parametrize(
    ("changes", "compared"),
    [
        (2, 2),
        (2 * term_counts.MAX_CHANGES, 2 * term_counts.MAX_CHANGES),
        (2 * term_counts.MAX_CHANGES + 1, 30),
        (1000, 30),
    ],
)
def test_after_many_changes_sums_are_computed_again(
    changes: int, compared: int, matched: list[AffinityTerm]
) -> None:
    counts = make_counts()
    for number in range(30):
        counts.change(make_term(number), 0, 1)
    before = sums(counts)
    matched.clear()
    # Terms of other pods change: they do not match, and the index finds none of them.
    for number in range(changes):
        counts.change(make_term(number, "db"), 1, 1)
    assert sums(counts) == before
    assert len(matched) == compared


def test_a_term_on_many_nodes_stays_counted_as_nodes_are_added() -> None:
    counts = make_counts()
    for row in range(SIZE):
        counts.change(make_term(0), row, 1)
    counts.set_size(3 * SIZE, 4 * SIZE)
    counts.change(make_term(0), 3 * SIZE - 1, 1)
    (found,) = counts.all()
    assert found.counts.tolist() == [1] * SIZE + [0] * (2 * SIZE - 1) + [1]


def test_sums_are_remembered_for_a_bounded_number_of_labels(
    matched: list[AffinityTerm],
) -> None:
    counts = make_counts()
    selector = Selector.from_text("app notin (x)")
    for number in range(20):
        term = AffinityTerm(f"key-{number}", selector, frozenset(("default",)), NOTHING)
        counts.change(term, 0, 1)
    pods = [make_pod("p", labels={"app": str(i)}) for i in range(term_counts.MAX_SUMS + 1)]
    for pod in pods:
        counts.sums(pod, {})
    matched.clear()
    counts.sums(pods[-1], {})
    assert matched == []
    counts.sums(pods[0], {})
    assert len(matched) == 20


def test_a_term_on_few_nodes_takes_no_row_per_node() -> None:
    """Thousands of terms of one pod would otherwise take megabytes each in a large cluster."""
    amounts = RowAmounts()
    for row in range(100):
        amounts.add(row, 1, 8192)
    assert amounts.is_sparse
    assert amounts.array(120).tolist() == [1] * 100 + [0] * 20
    for row in range(300):
        amounts.add(row, 1, 8192)
    assert not amounts.is_sparse
    assert amounts.array(400).tolist() == [2] * 100 + [1] * 200 + [0] * 100


@pytest.mark.parametrize("rows", [3, 30])
def test_amounts_move_and_grow(rows: int) -> None:
    amounts = RowAmounts()
    for row in range(rows):
        amounts.add(row, row + 1, 64)
    amounts.grow(128)
    amounts.move(rows - 1, 0)
    amounts.add(100, 7, 128)
    wanted = np.zeros(128, dtype=np.int64)
    wanted[1 : rows - 1] = np.arange(2, rows)
    wanted[0], wanted[100] = rows, 7
    assert amounts.array(128).tolist() == wanted.tolist()
    amounts.add(100, -7, 128)
    assert amounts.array(128)[100] == 0
    # A row without an amount can move, too.
    amounts.move(100, 0)
    assert amounts.array(128)[0] == 0
    with pytest.raises(ValueError, match="read-only"):
        amounts.array(128)[0] = 1
