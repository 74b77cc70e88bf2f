from __future__ import annotations

import pytest

from mooring.client.warning_headers import parse_warnings


@pytest.mark.parametrize(
    ("header", "found"),
    [
        ("", []),
        ('299 - "a"', [(299, "a")]),
        (
            '299 - "a", 199 agent "b, c" "Mon, 01 Jan 2024 00:00:00 GMT",299 - ""',
            [(299, "a"), (199, "b, c"), (299, "")],
        ),
        (r'299 - "\"quoted\" and \\"', [(299, '"quoted" and \\')]),
        ('299 - "gr\u00c3\u00bc\u00c3\u009fe"', [(299, "grüße")]),
        ('299 - "a", garbage', [(299, "a")]),
        ('299 - "a" garbage', []),
        ('299 - "unterminated', []),
        ('29 - "a"', []),
        ('299 - "\xff"', []),
        ('299 - "a\tb"', []),
        ('299 - "' + "x" * 200_000, []),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_warnings_are_read_as_client_go_does(header: str, found: list[tuple[int, str]]) -> None:
    assert list(parse_warnings(header)) == found
