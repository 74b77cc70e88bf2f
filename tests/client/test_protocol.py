"""What is said of responses that cannot be used."""

from __future__ import annotations

import pytest

from mooring.client.protocol import ProtocolError, TooLargeError


@pytest.mark.parametrize(
    ("limit", "text"),
    [
        (2**24, "16 MiB"),
        (3 * 2**30, "3 GiB"),
        (1536, "1536 bytes"),
        (2048, "2 KiB"),
        (0, "0 bytes"),
        (1, "1 bytes"),
    ],
)
def test_a_response_that_is_too_large_names_the_limit(limit: int, text: str) -> None:
    error = TooLargeError(limit)
    assert str(error) == f"the response is larger than {text}"
    assert isinstance(error, ProtocolError)


def test_a_response_that_inflates_too_much_names_the_ratio() -> None:
    assert str(TooLargeError(2**24, ratio=100)) == (
        "the response inflates to more than 100 times its size"
    )
