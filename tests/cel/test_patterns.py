"""Patterns from untrusted users: Go's syntax and messages, and no pattern that takes long."""

from __future__ import annotations

import pytest

from mooring.cel import patterns
from mooring.cel.patterns import TOO_LARGE_TOGETHER, PatternChecks, PatternError


@pytest.mark.parametrize(
    ("pattern", "text", "matches"),
    [
        ("b", "abc", True),
        ("^b", "abc", False),
        ("^$", "", True),
        (r"^\pL+$", "äöü", True),
        (r"^\d+$", "٣", False),
        ("(?i)ABC", "xabcx", True),
        (r"a\z", "a\n", False),
        ("a$", "a\n", False),
        (".", "\n", False),
        ("(?s).", "\n", True),
        ("^(a+)+$", "a" * 10_000 + "!", False),
        ("(a?){1000}" + "a{1000}", "a" * 1000, True),
    ],
)
def test_a_pattern_matches_as_in_go(pattern: str, text: str, matches: bool) -> None:
    assert patterns.compile(pattern).matches(text) is matches


def test_parts_of_a_text_are_found() -> None:
    letters = patterns.compile("[a-z]+")
    assert letters.find("1ab2c") == "ab"
    assert letters.find("12") == ""
    assert letters.find_all("1ab2c") == ["ab", "c"]
    assert letters.find_all("1ab2c", 1) == ["ab"]
    assert letters.find_all("1ab2c", 0) == []


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("(a", "missing closing ): `(a`"),
        ("a)", "unexpected ): `a)`"),
        ("[a", "missing closing ]: `[a`"),
        ("*a", "missing argument to repetition operator: `*`"),
        ("a**", "invalid nested repetition operator: `**`"),
        ("a{1001}", "invalid repeat count: `{1001}`"),
        ("x{2,1}", "invalid repeat count: `{2,1}`"),
        ("[z-a]", "invalid character class range: `z-a`"),
        ("(?=a)", "invalid or unsupported Perl syntax: `(?=`"),
        ("(?<!a)b", "invalid named capture: `(?<!a)b`"),
        ("(?P<n", "invalid named capture: `(?P<n`"),
        (r"\1", r"invalid escape sequence: `\1`"),
        (r"\C", r"invalid escape sequence: `\C`"),
        ("\\", "trailing backslash at end of expression: ``"),
        ("(" * 1000 + ")" * 1000, f"expression nests too deeply: `{'(' * 1000 + ')' * 1000}`"),
    ],
)
def test_what_is_no_pattern_is_said_in_the_words_of_go(pattern: str, text: str) -> None:
    # Go 1.26: regexp.Compile
    with pytest.raises(PatternError) as refused:
        patterns.compile(pattern)
    assert str(refused.value) == f"error parsing regexp: {text}"


@pytest.mark.parametrize("pattern", ["a" * 100_001, r"(\pL{1,100}){1,10}\pL{1000}\pL{1000}"])
def test_a_pattern_that_takes_much_memory_is_refused(pattern: str) -> None:
    with pytest.raises(PatternError, match="expression too large"):
        patterns.compile(pattern)


def test_a_quoted_backslash_is_not_a_byte() -> None:
    assert patterns.compile(r"\\C").matches(r"\C")
    assert patterns.compile(r"\Q\C\E").matches(r"\C")


def test_nothing_is_written_to_the_log(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(PatternError):
        patterns.compile("(never seen")
    assert capfd.readouterr() == ("", "")


class _Labour:
    """Counts work up to a limit."""

    def __init__(self, limit: float = float("inf")) -> None:
        self.count = 0
        self._limit = limit

    def __call__(self, amount: int) -> None:
        self.count += amount
        if self.count > self._limit:
            raise OverflowError


def test_large_programs_are_work_at_each_character() -> None:
    small, large = patterns.compile("^A100"), patterns.compile("(.?){1000}" * 20)
    few, many, longer = _Labour(), _Labour(), _Labour()
    small.matches("A100-SXM", few)
    large.matches("a" * 6, many)
    large.matches("a" * 12, longer)
    assert few.count < 50
    assert many.count > 500_000
    assert longer.count - many.count > 500_000


def test_a_search_that_would_take_long_does_not_begin() -> None:
    large = patterns.compile("(.?){1000}" * 20)
    for search in (large.matches, large.find):
        with pytest.raises(OverflowError):
            search("a" * 9000, _Labour(10_000_000))
    with pytest.raises(OverflowError):
        large.find_all("a" * 9000, labour=_Labour(10_000_000))


def test_each_match_of_a_search_for_all_is_work() -> None:
    # After each letter, the rest of the text is searched for a "b".
    labour = _Labour()
    patterns.compile("a*b|a").find_all("a" * 1600, labour=labour)
    assert labour.count > 1600 * 50
    few = _Labour()
    patterns.compile("").find_all("a" * 10, labour=few)
    assert few.count > 11 * 30


def test_refusing_a_pattern_is_work() -> None:
    works = {}
    for text in (r"\pL{1,999}", "a(", "a(" * 1000, r"\C"):
        for _ in range(2):
            with pytest.raises(PatternError) as refused:
                patterns.compile(text)
            works[text] = refused.value.work
    # A program is built until it is too large.
    assert works[r"\pL{1,999}"] > 1_000_000
    assert 100 < works["a("] < works["a(" * 1000]
    assert works[r"\C"] > 100


def test_patterns_of_one_expression_share_a_limit() -> None:
    checks = PatternChecks()
    checks.check(r"^\pL{1,60}$")
    once = checks.work
    checks.check(r"^\pL{1,60}$")
    assert checks.work == once > 100_000
    with pytest.raises(PatternError, match=TOO_LARGE_TOGETHER):
        for length in range(1, 100):
            checks.check(rf"\pL{{1,{length}}}")
    # What was checked stays valid.
    checks.check(r"^\pL{1,60}$")
    with pytest.raises(PatternError, match=TOO_LARGE_TOGETHER):
        checks.check("a")
