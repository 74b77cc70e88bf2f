"""The details of an attempt to schedule a group, recorded only on request."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from mooring.api import AnyPodGroup, Pod
from mooring.framework.status import Status
from mooring.framework.tried_groups import TriedGroup


class ExaminedGroup(msgspec.Struct, frozen=True):
    """One attempt to schedule a pod group, or a tree of groups."""

    #: What was tried for the group, or for the tree from its top.
    tried: TriedGroup
    #: The number of the attempt; the first is 1.
    attempt: int
    #: The pods that had no node when the attempt began.
    pods: Sequence[Pod]
    #: Why the group was not scheduled, and what PodGroupPostFilter did; None if it was scheduled.
    status: Status | None


class GroupExaminer(Protocol):
    """A receiver of the details of attempts to schedule groups."""

    def wants(self, group: AnyPodGroup) -> bool:
        """Return whether to record the details of a group's attempts, which takes more time.

        For a tree of groups, `group` is the top of the tree.
        """
        ...

    def take(self, examined: ExaminedGroup) -> None:
        """Take what an attempt has looked at."""
        ...
