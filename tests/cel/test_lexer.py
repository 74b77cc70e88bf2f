"""The tokens of a source."""

from __future__ import annotations

import pytest

from mooring.cel.lexer import SyntaxFault, Token, tokens_of, unquote


def kinds(source: str) -> list[tuple[str, str]]:
    return [(token.kind, token.text) for token in tokens_of(source)[:-1]]


@pytest.mark.parametrize(
    ("source", "found"),
    [
        pytest.param("", [], id="nothing"),
        pytest.param(" \t\r\n\f// all of it", [], id="blanks and a comment"),
        pytest.param("a.b_1", [("name", "a"), ("mark", "."), ("name", "b_1")], id="names"),
        pytest.param("1.5 .5 1e3 2", None, id="numbers"),
        pytest.param("0x1Fu 7U", [("int", "0x1Fu"), ("int", "7U")], id="unsigned numbers"),
        pytest.param("a<=b", [("name", "a"), ("mark", "<="), ("name", "b")], id="long marks first"),
        pytest.param("'a' // 'b'\n\"c\"", [("string", "'a'"), ("string", '"c"')], id="texts"),
        pytest.param("`a-b/c`", [("escaped", "`a-b/c`")], id="an escaped name"),
        pytest.param("'''a'b'''", [("string", "'''a'b'''")], id="a long text"),
    ],
)
def test_tokens(source: str, found: list[tuple[str, str]] | None) -> None:
    expected = found or []
    if found is None:
        expected = [("double", "1.5"), ("double", ".5"), ("double", "1e3"), ("int", "2")]
    assert kinds(source) == expected


def test_a_token_knows_its_place_and_the_last_marks_the_end() -> None:
    assert tokens_of(" a\n+ ") == [
        Token("name", "a", 1),
        Token("mark", "+", 3),
        Token("end", "<EOF>", 5),
    ]


@pytest.mark.parametrize(
    ("source", "place", "what"),
    [
        pytest.param("a # b", 2, "#", id="a character that means nothing"),
        pytest.param("1 + 'abc", 4, "'abc", id="a text without an end"),
        pytest.param('"a\nb"', 0, '"a\nb"', id="a newline in a short text"),
    ],
)
def test_what_is_no_token_is_told_with_its_place(source: str, place: int, what: str) -> None:
    with pytest.raises(SyntaxFault) as refused:
        tokens_of(source)
    assert refused.value.issue.place == place
    assert refused.value.issue.message == f"Syntax error: token recognition error at: '{what}'"


@pytest.mark.parametrize(
    ("literal", "text"),
    [
        ("'a'", "a"),
        ("'''a\r\nb\rc'''", "a\nb\nc"),
        (r"r'\n'", r"\n"),
        (r"'\a\b\f\n\r\t\v\\\?\"\'\`'", "\a\b\f\n\r\t\v\\?\"'`"),
        (r"'\x41\X42\u0043\U00000044\105'", "ABCDE"),
    ],
)
def test_a_text_is_unquoted(literal: str, text: str) -> None:
    (token, _) = tokens_of(literal)
    assert unquote(token) == text


@pytest.mark.parametrize("escape", [r"\q", r"\x4", r"\uD800", r"\U00110000", r"\400"])
def test_an_escape_that_is_no_character_is_refused(escape: str) -> None:
    (token, _) = tokens_of(f"   '{escape}'")
    with pytest.raises(SyntaxFault) as refused:
        unquote(token)
    assert refused.value.issue.place == 3
    assert refused.value.issue.message.endswith(f"at: ''{escape}''")
