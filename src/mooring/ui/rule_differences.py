"""Compares the rules that an explanation shows with the rules of a profile."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mooring.cycle.profile import Profile


def rule_differences(data: Mapping[str, Any], profile: Profile | None) -> list[str]:
    """Return the differences, one phrase each; `data` is a scheduler's explanation of a pod.

    An explanation shows only the plugins that refused a node or gave scores, and their weights.
    Other differences between the two configurations are not found.
    """
    if profile is None:
        return [f"only the leader has the profile {data['profile']}"]
    filters = {step.name for step in profile.filter}
    found = [
        f"only the leader has the filter {plugin['name']}"
        for plugin in data["filterPlugins"]
        if plugin["name"] not in filters
    ]
    if data["totals"] is None:
        return found
    theirs = {plugin["name"]: plugin["weight"] for plugin in data["scorePlugins"]}
    known = {*theirs, *data["skippedScorePlugins"]}
    ours = {step.name: step.weight for step in profile.score}
    for name, weight in theirs.items():
        if name not in ours:
            found.append(f"only the leader has scores of {name}")
        elif ours[name] != weight:
            found.append(f"{name} has the weight {weight} there and {ours[name]} here")
    found += [f"only this page has scores of {name}" for name in ours if name not in known]
    return found
