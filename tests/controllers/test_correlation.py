"""Too many Events: they are combined, dropped, and after a while sent again."""

from __future__ import annotations

from mooring.controllers.correlation import COMBINED, Correlation


def messages(correlation: Correlation, count: int, now: float = 0.0) -> list[str]:
    return [correlation.combine("u", "Normal", "Made", f"pod {i}", now)[1] for i in range(count)]


def test_the_tenth_different_message_is_combined_with_those_after_it() -> None:
    found = messages(Correlation(), 12)
    assert found[:9] == [f"pod {i}" for i in range(9)]
    assert found[9:] == [f"{COMBINED}pod {i}" for i in range(9, 12)]


def test_combined_events_count_as_one() -> None:
    correlation = Correlation()
    messages(correlation, 9)
    first, _ = correlation.combine("u", "Normal", "Made", "pod a", 0.0)
    again, _ = correlation.combine("u", "Normal", "Made", "pod b", 0.0)
    other, _ = correlation.combine("u", "Warning", "Made", "pod c", 0.0)
    assert first == again != other


def test_ten_minutes_of_silence_end_it() -> None:
    correlation = Correlation()
    messages(correlation, 12)
    assert messages(correlation, 1, now=601.0) == ["pod 0"]


def test_the_same_message_is_never_combined() -> None:
    correlation = Correlation()
    kinds = {correlation.combine("u", "Normal", "Made", "it", 0.0) for _ in range(50)}
    assert kinds == {(("u", "Normal", "Made", "it"), "it")}


def test_an_object_has_twenty_five_events_and_then_one_in_five_minutes() -> None:
    correlation = Correlation()
    assert [correlation.allows("u", "Normal", 1.0) for _ in range(27)] == [True] * 25 + [False] * 2
    assert correlation.allows("other", "Normal", 1.0)
    assert not correlation.allows("u", "Normal", 200.0)
    assert correlation.allows("u", "Normal", 302.0)
    assert not correlation.allows("u", "Normal", 302.0)
