"""The rules of the scheduler that serves a cluster, beside ours in a scheduler that follows it."""

from __future__ import annotations

from msgspec.structs import replace

from mooring.api import Pod
from mooring.config import LoadResult

#: Begins the name of a profile of theirs; no pod can name such a scheduler.
_PREFIX = "their "


def beside(ours: LoadResult, theirs: LoadResult) -> LoadResult:
    """Return our configuration with their profiles added, unless both have the same profiles."""
    if ours.profiles == theirs.profiles:
        return ours
    added = tuple(
        replace(profile, scheduler_name=their_profile(profile.scheduler_name))
        for profile in theirs.profiles
    )
    return replace(ours, profiles=(*ours.profiles, *added))


def their_profile(name: str) -> str:
    """Return the name of the profile with the rules that another scheduler has for this name."""
    return _PREFIX + name


def as_theirs(pod: Pod) -> Pod:
    """Return a pod that is served by the other scheduler's profile."""
    name = their_profile(pod.spec.scheduler_name)
    return replace(pod, spec=replace(pod.spec, scheduler_name=name))
