"""Extenders: the webhooks of a configuration, and their effect on the rest of it.

# kube-scheduler: scheduler.go (buildExtenders)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import overload

import msgspec

from mooring.config import LoadResult
from mooring.config.defaults import EXTENDER_TIMEOUT
from mooring.config.types import Extender as ExtenderConfig
from mooring.config.types import ProfileConfig
from mooring.errors import ConfigError
from mooring.extenders.http_extender import HttpExtender
from mooring.extenders.webhook import MAX_RESPONSE, Webhook
from mooring.observe.clock import Clock, SystemClock
from mooring.plugins.args import NodeResourcesFitArgs

NO_FIT_ARGS = "couldn't build extenders: can't find NodeResourcesFitArgs in plugin config"

_FIT = "NodeResourcesFit"
_replace = msgspec.structs.replace


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
        text = f"couldn't build extenders: {config.url_prefix}: {error.message}"
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


def ignored_resources(configs: Sequence[ExtenderConfig]) -> tuple[str, ...]:
    """Return the resources that extenders manage and NodeResourcesFit ignores."""
    return tuple(
        resource.name
        for config in configs
        for resource in config.managed_resources
        if resource.ignored_by_scheduler
    )


def with_extenders(loaded: LoadResult) -> LoadResult:
    """Return the configuration with the extenders' default timeouts and ignored resources."""
    # kube-scheduler changes the configuration while it builds extenders, and shows the result.
    extenders = tuple(
        extender if extender.http_timeout else _replace(extender, http_timeout=EXTENDER_TIMEOUT)
        for extender in loaded.config.extenders
    )
    if not extenders:
        return loaded
    config = _replace(loaded.config, extenders=extenders)
    return with_ignored_resources(_replace(loaded, config=config))


def with_ignored_resources(loaded: LoadResult) -> LoadResult:
    """Return a configuration whose NodeResourcesFit ignores what extenders manage.

    They replace `ignoredResources` as written. A profile without NodeResourcesFit's args is an
    error, as in kube-scheduler.
    """
    ignored = ignored_resources(loaded.config.extenders)
    if not ignored:
        return loaded
    profiles = tuple(_with_ignored(profile, ignored) for profile in loaded.config.profiles)
    resolved = tuple(
        _replace(profile, args={**profile.args, _FIT: _ignoring(profile.args[_FIT], ignored)})
        if _FIT in profile.args
        else profile
        for profile in loaded.profiles
    )
    return _replace(loaded, config=_replace(loaded.config, profiles=profiles), profiles=resolved)


def _with_ignored(profile: ProfileConfig, ignored: tuple[str, ...]) -> ProfileConfig:
    if not any(one.name == _FIT for one in profile.plugin_config):
        raise ConfigError(NO_FIT_ARGS)
    plugin_config = tuple(
        _replace(one, args=_ignoring(one.args, ignored)) if one.name == _FIT else one
        for one in profile.plugin_config
    )
    return _replace(profile, plugin_config=plugin_config)


def _ignoring(args: NodeResourcesFitArgs, ignored: tuple[str, ...]) -> NodeResourcesFitArgs:
    return _replace(args, ignored_resources=ignored)
