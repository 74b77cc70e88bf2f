"""The users who send requests."""

from __future__ import annotations

import msgspec

AUTHENTICATED = "system:authenticated"
UNAUTHENTICATED = "system:unauthenticated"
MASTERS = "system:masters"


class ReviewedUser(msgspec.Struct, frozen=True):
    """A user as SubjectAccessReview represents it."""

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: dict[str, tuple[str, ...]] = {}


ANONYMOUS = ReviewedUser("system:anonymous", groups=(UNAUTHENTICATED,))


def authenticated(user: ReviewedUser) -> ReviewedUser:
    """Return an authenticated user, with the group of all authenticated users added."""
    if user.name == ANONYMOUS.name or {AUTHENTICATED, UNAUTHENTICATED} & set(user.groups):
        return user
    return ReviewedUser(user.name, user.uid, (*user.groups, AUTHENTICATED), user.extra)
