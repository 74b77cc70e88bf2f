"""The users who send requests."""

from __future__ import annotations

import pytest

from mooring.serve.users import ANONYMOUS, ReviewedUser, authenticated


@pytest.mark.parametrize(
    ("user", "groups"),
    [
        pytest.param(
            ReviewedUser("ada", "7", ("devs",), {"a": ("b",)}),
            ("devs", "system:authenticated"),
            id="everybody who is known",
        ),
        pytest.param(
            ReviewedUser("ada", groups=("system:authenticated",)),
            ("system:authenticated",),
            id="who is in the group already",
        ),
        pytest.param(
            ReviewedUser("proxy", groups=("system:unauthenticated",)),
            ("system:unauthenticated",),
            id="who is said to be unknown",
        ),
        pytest.param(ANONYMOUS, ("system:unauthenticated",), id="anonymous"),
    ],
)
def test_who_is_authenticated_is_in_the_group_of_all_who_are(
    user: ReviewedUser, groups: tuple[str, ...]
) -> None:
    found = authenticated(user)
    assert found.groups == groups
    assert (found.name, found.uid, found.extra) == (user.name, user.uid, user.extra)
