"""What an attempt to schedule a group looked at, kept only if somebody asks for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from mooring.api import AnyPodGroup, Pod
from mooring.framework.status import Status
from mooring.framework.tried_groups import TriedGroup


class ExaminedGroup(msgspec.Struct, frozen=True):
    """One attempt to schedule a pod group, or a tree of groups."""

    #: The group, or the top of the tree, and what was tried.
    tried: TriedGroup
    #: The number of the attempt; the first is 1.
    attempt: int
    #: The pods that had no node when the attempt began.
    pods: Sequence[Pod]
    #: Why the group was not scheduled, with what PodGroupPostFilter did; None if it was.
    status: Status | None


class GroupExaminer(Protocol):
    """Somebody who asks what the attempts of groups look at."""

    def wants(self, group: AnyPodGroup) -> bool:
        """Return whether the attempts of a group are to be examined; that takes more time.

        A group of a tree is not asked about, but the top of the tree.
        """
        ...

    def take(self, examined: ExaminedGroup) -> None:
        """Take what an attempt has looked at."""
        ...
