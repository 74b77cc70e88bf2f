"""The leader's rules for a page: taken over if they can be, and compared with those of the page."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from mooring.api import Pod
from mooring.client.client import Client
from mooring.client.connection import Connection
from mooring.client.resources import ListOptions
from mooring.config.rules import Rules
from mooring.errors import ConfigError, MooringError
from mooring.explain.scheduler_rules import VERSION, SchedulerRules
from mooring.framework.features import FeatureGates
from mooring.framework.releases import parse_versions
from mooring.journal.head import scheduler_rules
from mooring.leader.leader_lookup import NoLeader
from mooring.leader.scheduler_questions import SchedulerAddress, ask_about_rules, opened_scheduler
from mooring.replay.replay_rules import printed_config
from mooring.ui.leader_link import PATIENCE, LeaderLink
from mooring.ui.page_source import scheduler_names

#: What the rules are that were taken over, in words.
LEADERS = "the leader's configuration"
#: Seconds for which a page that starts waits for the leader's rules.
START_SECONDS = 10.0
#: So many pods are read to learn which schedulers there are.
MOST_PODS = 500
#: Parts of a configuration, apart from its profiles, that change where pods go.
_PARTS = ("percentageOfNodesToScore",)


class PageRules(msgspec.Struct, frozen=True):
    """The rules that a page applies."""

    rules: Rules
    #: Whether the user has chosen them; otherwise the leader's are wanted.
    given: bool = True


def take_over(theirs: SchedulerRules, ours: Rules, who: str) -> Rules:
    """Return the leader's rules, with the plugins that this program has.

    Nothing that the leader names is loaded as code. Raise MooringError if the rules cannot be
    applied here.
    """
    try:
        gates = gates_of(theirs)
        missing = list(_missing_plugins(theirs, ours))
        if missing:
            raise ConfigError("; ".join(missing))
        config = printed_config(theirs.config, f"the rules of {who}", ours.registry, gates)
    except ConfigError as error:
        raise MooringError(f"the rules of {who} cannot be applied here: {error}") from None
    return Rules(config, ours.registry, gates, LEADERS)


def gates_of(theirs: SchedulerRules) -> FeatureGates:
    """Return the leader's gates; raise ConfigError if this version lacks one."""
    if theirs.version != VERSION:
        raise ConfigError(f"they have format {theirs.version}, and this version reads {VERSION}")
    versions = (theirs.release, theirs.min_compatibility)
    return FeatureGates(theirs.gates, parse_versions(*([one] if one else [] for one in versions)))


def differences(theirs: SchedulerRules, ours: Rules) -> list[str]:
    """Return how the leader's rules differ from those of the page, one phrase each."""
    try:
        gates = gates_of(theirs)
    except ConfigError as error:
        return [str(error)]
    found = []
    if gates.release is not ours.gates.release:
        release = ours.gates.release.version
        found.append(f"it follows Kubernetes {gates.release.version}, and this page {release}")
    for name in sorted(gates.features.keys() & ours.gates.features.keys()):
        if gates.enabled(name) != ours.gates.enabled(name):
            there, here = ("on", "off") if gates.enabled(name) else ("off", "on")
            found.append(f"the feature gate {name} is {there} there and {here} here")
    found += _missing_plugins(theirs, ours)
    mine = scheduler_rules(ours.config, ours.registry, ours.gates)
    mine_by_name, theirs_by_name = _by_name(mine.config), _by_name(theirs.config)
    for name in dict.fromkeys((*theirs_by_name, *mine_by_name)):
        if name not in mine_by_name:
            found.append(f"only the leader has the profile {name}")
        elif name not in theirs_by_name:
            found.append(f"only this page has the profile {name}")
        elif mine_by_name[name] != theirs_by_name[name]:
            found.append(f"the profile {name} is another one")
    found += [
        f"{part} is {theirs.config.get(part)} there and {mine.config.get(part)} here"
        for part in _PARTS
        if theirs.config.get(part) != mine.config.get(part)
    ]
    if theirs.config.get("extenders"):
        found.append("its extenders are not asked here")
    return found


async def rules_at_start(
    connection: Connection,
    client: Client,
    address: SchedulerAddress,
    ours: Rules,
    *,
    now: float,
    user_agent: str,
) -> PageRules:
    """Return the leader's rules if they are known soon and can be applied here, otherwise ours.

    Plugins of ours that the leader does not have are a choice of the user: then ours are returned.
    """
    applied = PageRules(ours, given=False)
    try:
        async with asyncio.timeout(START_SECONDS):
            pods = await client.list(Pod, options=ListOptions(limit=MOST_PODS))
            async with opened_scheduler(
                connection,
                client,
                address,
                scheduler_names=scheduler_names(pods.items),
                now=now,
                user_agent=user_agent,
            ) as found:
                if isinstance(found, NoLeader):
                    return applied
                theirs = await ask_about_rules(found)
                if not differences(theirs, ours):
                    return applied
                if not _plugin_names(ours) <= {plugin.name for plugin in theirs.plugins}:
                    return PageRules(ours)
                return PageRules(take_over(theirs, ours, found.who), given=False)
    except (MooringError, TimeoutError):
        # Each answer that rests on the rules says how they differ from the leader's.
        return applied


async def rule_notes(link: LeaderLink | None, applied: PageRules) -> list[str]:
    """Return the sentences that must be beside an answer by the page's own rules."""
    if link is None:
        return []
    text = applied.rules.text
    try:
        async with asyncio.timeout(PATIENCE):
            theirs = await link.rules()
    except TimeoutError:
        return [_unknown(f"it did not answer within {PATIENCE:.0f} s", text)]
    except MooringError as error:
        return [_unknown(" ".join(str(error).split()), text)]
    if isinstance(theirs, NoLeader):
        return [_unknown(theirs.reason, text)]
    found = differences(theirs, applied.rules)
    if not found:
        return []
    advice = "" if applied.given else " Start mooring ui again to apply those that can be."
    return [f"The leader decides by other rules than {text}: {'; '.join(found)}.{advice}"]


def _missing_plugins(theirs: SchedulerRules, ours: Rules) -> Iterable[str]:
    mine = scheduler_rules(ours.config, ours.registry, ours.gates)
    known = {one.name: one.sha256 for one in mine.plugins}
    for plugin in theirs.plugins:
        if ours.registry.get(plugin.name) is None:
            yield f"this page lacks its plugin {plugin.name}, name its file with --plugin"
        elif plugin.sha256 and known.get(plugin.name, plugin.sha256) != plugin.sha256:
            yield f"the file of its plugin {plugin.name} is another one"


def _plugin_names(rules: Rules) -> set[str]:
    """Return the names of the plugins that run and do not come with Mooring."""
    served = scheduler_rules(rules.config, rules.registry, rules.gates)
    return {plugin.name for plugin in served.plugins}


def _by_name(config: Mapping[str, Any]) -> dict[str, Any]:
    return {profile["schedulerName"]: profile for profile in config.get("profiles", ())}


def _unknown(reason: str, text: str) -> str:
    applied = f"{LEADERS} of when mooring ui was started" if text == LEADERS else text
    return f"The rules of the leader are not known ({reason.rstrip('.')}); applied are {applied}."
