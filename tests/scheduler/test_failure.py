from __future__ import annotations

from mooring.errors import MAX_TEXT
from mooring.scheduler.failure import Failure


def test_a_message_fits_into_a_condition() -> None:
    """kube-apiserver takes 3 MiB a request; kube-scheduler's condition would be refused."""
    long = "x" * 5_000_000
    assert Failure(long, rejected=False).message == "x" * (MAX_TEXT - 4) + " ..."
    assert Failure("short", rejected=True).message == "short"
