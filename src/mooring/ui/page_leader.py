"""PageLeader: the leader's attempts, explanations and queue, as plain data for the page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from mooring.cycle.profile import Profile
from mooring.errors import MooringError, ObjectError
from mooring.explain.data import ANSWER_VERSION
from mooring.explain.queue_text import queue_text
from mooring.leader.leader_lookup import NoLeader
from mooring.leader.scheduler_questions import NotKnown, UnansweredError
from mooring.observe.clock import Clock
from mooring.queue.queue_places import QueuePlace
from mooring.ui.leader_link import PATIENCE, LeaderLink, LeaderState
from mooring.ui.rule_differences import rule_differences


class PageLeader:
    """The leader's answers for the page. Owned by the event loop of the page."""

    def __init__(self, link: LeaderLink, profiles: Mapping[str, Profile], clock: Clock) -> None:
        """Make answers from a link to the leader; `profiles` are those of the page's own rules."""
        self._link = link
        self._profiles = profiles
        self._clock = clock

    @property
    def state(self) -> LeaderState:
        """Return the state of the page's connection to the leader."""
        return self._link.state

    async def explain(self, namespace: str, name: str, attempt: int | None) -> dict[str, Any] | str:
        """Return the leader's explanation of a pod's attempt, or why there is none.

        Raise LeaderBusyError, and ObjectError if a numbered attempt is not known.
        """
        try:
            found = await self._link.explain(namespace, name, attempt)
        except UnansweredError as error:
            if attempt is not None:
                raise
            return str(error)
        if isinstance(found, NotKnown | NoLeader):
            if attempt is not None:
                raise ObjectError(found.reason)
            return found.reason
        if found["version"] != ANSWER_VERSION:
            text = (
                f"{found['answeredBy']} answers in format {found['version']}, and this page reads"
            )
            raise ObjectError(f"{text} {ANSWER_VERSION}: use the version of Mooring that leads")
        return {
            **found,
            "ruleDifferences": rule_differences(found, self._profiles.get(found["profile"])),
            "queueText": self._text(found["queue"]),
        }

    async def places(self) -> tuple[dict[str, str], str]:
        """Return the places of pods in the queue by "namespace/name", or why none is known."""
        try:
            found = await self._link.places()
        except MooringError as error:
            return {}, str(error)
        except TimeoutError:
            return {}, f"the leader did not say within {PATIENCE:.0f} s where pods wait"
        now = self._clock.now()
        return {key: queue_text(place, now) for key, place in found.items()}, ""

    def _text(self, place: Any) -> str:
        if place is None:
            return ""
        return queue_text(msgspec.convert(place, QueuePlace), self._clock.now())
