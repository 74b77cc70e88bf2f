"""The check before a request is sent."""

from __future__ import annotations

import pytest

from mooring.client.transport import Request, WithheldError, check_of, withholding

REQUEST = Request("POST", "/api/v1/pods")


def test_without_a_check_there_is_nothing_to_call() -> None:
    assert check_of(None, REQUEST) is None


def test_a_check_is_called_with_the_request_each_time() -> None:
    seen: list[Request] = []
    check = check_of(seen.append, REQUEST)
    assert check is not None
    check()
    check()
    assert seen == [REQUEST, REQUEST]


def test_what_a_check_raises_is_told_from_errors_of_sending() -> None:
    cause = OSError("the lease has ended")

    def refuse(request: Request) -> None:
        raise cause

    check = check_of(refuse, REQUEST)
    assert check is not None
    with pytest.raises(WithheldError, match="the lease has ended") as withheld:
        check()
    assert withheld.value.cause is cause
    assert withheld.value.__cause__ is cause


def test_what_ends_the_process_is_not_wrapped() -> None:
    def leave() -> None:
        raise SystemExit(3)

    with pytest.raises(SystemExit):
        withholding(leave)()
