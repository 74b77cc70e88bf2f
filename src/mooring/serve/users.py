"""Users: who asks."""

from __future__ import annotations

import msgspec

AUTHENTICATED = "system:authenticated"
UNAUTHENTICATED = "system:unauthenticated"
MASTERS = "system:masters"


class ReviewedUser(msgspec.Struct, frozen=True):
    """Say who asks, as SubjectAccessReview spells it."""

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: dict[str, tuple[str, ...]] = {}


ANONYMOUS = ReviewedUser("system:anonymous", groups=(UNAUTHENTICATED,))


def authenticated(user: ReviewedUser) -> ReviewedUser:
    """Return a user who is known, in the group of those who are."""
    if user.name == ANONYMOUS.name or {AUTHENTICATED, UNAUTHENTICATED} & set(user.groups):
        return user
    return ReviewedUser(user.name, user.uid, (*user.groups, AUTHENTICATED), user.extra)
