"""Which of many warnings are sent."""

from __future__ import annotations

from collections.abc import Iterator

from mooring.apiserver.warning_texts import cut


def test_a_few_warnings_are_sent_as_they_are_and_once() -> None:
    assert cut(["a", "", "b", "a"]) == ["a", "b"]


def test_above_4096_characters_each_warning_is_cut_to_256() -> None:
    texts = [f"{i}{'x' * 300}" for i in range(14)]
    assert cut(texts[:13]) == texts[:13]
    assert cut(texts) == [text[:256] for text in texts]


def test_no_more_are_worked_out_than_are_sent() -> None:
    asked = 0

    def endless() -> Iterator[str]:
        nonlocal asked
        while True:
            asked += 1
            yield f"{asked}{'x' * 300}"

    assert len(cut(endless())) == 16
    assert asked == 17
