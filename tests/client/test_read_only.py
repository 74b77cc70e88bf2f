"""Nothing but GET passes."""

from __future__ import annotations

import pytest

from mooring.client.read_only import ReadOnlyError, refuse_writes
from mooring.client.transport import Request


def test_a_get_passes() -> None:
    refuse_writes(Request("GET", "/api/v1/pods?watch=true"))


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "get"])
def test_everything_else_is_not_sent(method: str) -> None:
    with pytest.raises(ReadOnlyError) as caught:
        refuse_writes(Request(method, "/api/v1/pods/p"))
    assert not caught.value.sent
    assert str(caught.value).endswith("not sent: this process only reads")
