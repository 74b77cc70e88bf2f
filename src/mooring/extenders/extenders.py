"""Extenders: the webhooks of a configuration.

# kube-scheduler: scheduler.go (buildExtenders)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import overload

from mooring.config.defaults import EXTENDER_TIMEOUT
from mooring.config.types import Extender as ExtenderConfig
from mooring.errors import ConfigError, safe_url
from mooring.extenders.http_extender import HttpExtender
from mooring.extenders.webhook import MAX_RESPONSE, Webhook
from mooring.observe.clock import Clock, SystemClock


class Extenders(Sequence[HttpExtender]):
    """The extenders in the order in which they are called: the ignorable ones last.

    Owns their connections; close it at the end. Raises ConfigError if TLS files cannot be used.
    `before_write` is called right before an extender is asked to bind; the other verbs change
    nothing until the scheduler itself writes. `max_response` is the largest response accepted from
    an extender, in bytes after inflating.
    """

    def __init__(
        self,
        configs: Sequence[ExtenderConfig] = (),
        *,
        clock: Clock | None = None,
        before_write: Callable[[], None] | None = None,
        max_response: int = MAX_RESPONSE,
    ) -> None:
        clock = SystemClock() if clock is None else clock
        self._extenders = tuple(
            _make_extender(config, clock, before_write, max_response)
            for config in sorted(configs, key=lambda config: config.ignorable)
        )

    @overload
    def __getitem__(self, index: int) -> HttpExtender: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[HttpExtender, ...]: ...

    def __getitem__(self, index: int | slice) -> HttpExtender | tuple[HttpExtender, ...]:
        return self._extenders[index]

    def __len__(self) -> int:
        return len(self._extenders)

    async def close(self) -> None:
        """Close all connections."""
        for extender in self._extenders:
            await extender.close()


def _make_extender(
    config: ExtenderConfig,
    clock: Clock,
    before_write: Callable[[], None] | None,
    max_response: int,
) -> HttpExtender:
    try:
        webhook = Webhook(config, clock, before_write, max_response=max_response)
        return HttpExtender(config, webhook)
    except ConfigError as error:
        text = f"couldn't build extenders: {safe_url(config.url_prefix)}: {error.message}"
        raise ConfigError(text) from None


def longest_wait(configs: Sequence[ExtenderConfig]) -> float:
    """Return how many seconds one scheduling cycle may wait if all extenders time out.

    Each is called to filter at most twice, for the nominated node and for all nodes, and then to
    prioritize or to preempt. An extender without a timeout adds nothing.
    """
    seconds = 0.0
    for config in configs:
        timeout = (config.http_timeout or EXTENDER_TIMEOUT).seconds
        requests = 2 * bool(config.filter_verb)
        requests += bool(config.prioritize_verb or config.preempt_verb)
        seconds += max(0.0, timeout) * requests
    return seconds
