"""The lock that replicas share."""

from __future__ import annotations

import pytest

from mooring.app.lease_lock import check_lock_kind, make_identity
from mooring.errors import ConfigError


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("endpoints", "endpoints lock is removed, migrate to leases"),
        ("configmapsleases", "configmapsleases lock is removed, migrated to leases"),
        ("sheep", "Invalid lock-type sheep"),
    ],
)
def test_locks_other_than_leases_are_refused(kind: str, message: str) -> None:
    check_lock_kind("leases")
    with pytest.raises(ConfigError) as caught:
        check_lock_kind(kind)
    assert str(caught.value) == f"couldn't create resource lock: {message}"


def test_identities_differ_even_on_one_host() -> None:
    one, two = make_identity(), make_identity()
    assert one != two
    assert one.rpartition("_")[0] == two.rpartition("_")[0]
