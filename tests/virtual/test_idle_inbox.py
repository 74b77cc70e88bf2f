"""When an inbox in memory makes the calls that are posted."""

from __future__ import annotations

from mooring.virtual.idle_inbox import IdleInbox


def test_call_is_made_immediately_unless_a_cycle_is_in_progress() -> None:
    inbox, made = IdleInbox(), []
    inbox.post(made.append, 1)
    assert made == [1]
    with inbox.busy():
        inbox.post(made.append, 2)
        assert made == [1]
        with inbox.busy():
            pass
        inbox.post(made.append, 3)
    assert (made, len(inbox)) == ([1], 2)
    inbox.drain()
    assert made == [1, 2, 3]


def test_calls_that_a_call_posts_follow_it() -> None:
    inbox, made = IdleInbox(), []

    def first() -> None:
        inbox.post(made.append, "second")
        made.append("first")

    inbox.post(first)
    assert made == ["first", "second"]
