"""The report of what changed between two releases, as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from tools.follow import decisions
from tools.follow.decisions import DECISION, SCORE, TEXT, Change
from tools.follow.facts import Facts, texts
from tools.recorder.running import differences

Lines = Iterator[str]
NOTHING = "Nothing changed."


def report(before: Facts, now: Facts, found: list[Change], refused: dict[str, str]) -> str:
    """Return the report, given the scenarios that are decided otherwise and those refused."""
    sections: tuple[tuple[str, Iterable[str]], ...] = (
        ("Feature gates", gates(before, now)),
        ("Flags", flags(before.said["flags"], now.said["flags"])),
        ("Metrics", metrics(before.found["metrics"], now.found["metrics"])),
        ("Configuration fields", fields(before.configuration, now.configuration)),
        ("Configuration defaults", defaults(before.said, now.said)),
        ("Plugins of the default profile", plugins(before.said, now.said)),
        ("API fields that the scheduler reads", names(before.fields, now.fields)),
        ("Rights", rights(before.said, now.said)),
        ("Texts", spoken(texts(before), texts(now))),
        ("Decisions", decided(found, refused)),
    )
    lines = [f"## Kubernetes {now.release} against {before.release}", ""]
    for title, content in sections:
        body = list(content) or [NOTHING]
        lines += [f"### {title}", "", *body, ""]
    return "\n".join(lines).rstrip("\n")


def listed(word: str, found: Iterable[str]) -> Lines:
    """Yield a line of names after a word, if there are any."""
    found = sorted(found)
    if found:
        yield f"- {word}: {', '.join(f'`{one}`' for one in found)}"


def names(before: Iterable[str], now: Iterable[str]) -> Lines:
    """Yield what was added and what was removed."""
    one, other = set(before), set(now)
    yield from listed("added", other - one)
    yield from listed("removed", one - other)


def gates(before: Facts, now: Facts) -> Lines:
    """Yield the gates that were added, removed, or have another stage, default or lock.

    Those that the scheduler's code names come first.
    """
    one, other = before.said["gates"], now.said["gates"]
    named = {*before.found["selectors"], *now.found["selectors"]}
    for whose, read in (("the scheduler reads", True), ("others", False)):
        added = [name for name in other.keys() - one.keys() if (name in named) is read]
        yield from listed(f"{whose}, added", (f"{name} ({_gate(other[name])})" for name in added))
        removed = [name for name in one.keys() - other.keys() if (name in named) is read]
        yield from listed(f"{whose}, removed", removed)
    changed = sorted(name for name in one.keys() & other.keys() if one[name] != other[name])
    if changed:
        yield from ("", "| gate | before | now | the scheduler reads it |", "|---|---|---|---|")
        for name in sorted(changed, key=lambda name: name not in named):
            word = "yes" if name in named else "no"
            yield f"| {name} | {_gate(one[name])} | {_gate(other[name])} | {word} |"


def _gate(spec: dict[str, Any]) -> str:
    words = [spec["stage"], "on" if spec["default"] else "off"]
    return ", ".join([*words, "locked"] if spec["locked"] else words)


def flags(before: dict[str, Any], now: dict[str, Any]) -> Lines:
    """Yield the flags that were added, removed, or have another type, default or deprecation."""
    yield from names(before, now)
    yield from _changed(before, now)


def _changed(before: dict[str, Any], now: dict[str, Any]) -> Lines:
    for name in sorted(before.keys() & now.keys()):
        for difference in differences(before[name], now[name]):
            yield f"- `{name}`: {difference}"


def metrics(before: dict[str, Any], now: dict[str, Any]) -> Lines:
    """Yield the metrics that were added, removed, or differ."""
    for name in sorted(now.keys() - before.keys()):
        one = now[name]
        labels = ", ".join(one["labels"])
        yield f"- added: `{name}{{{labels}}}`, {one['kind'].lower()}, {one['stability']}"
    yield from listed("removed", before.keys() - now.keys())
    yield from _changed(before, now)


def fields(before: dict[str, Any], now: dict[str, Any]) -> Lines:
    """Yield the fields of the configuration that were added, removed or changed."""
    one, other = _flat(before), _flat(now)
    yield from names(one, other)
    for name in sorted(one.keys() & other.keys()):
        if one[name] != other[name]:
            yield f"- `{name}`: {one[name]}, {other[name]}"


def _flat(types: dict[str, dict[str, str]]) -> dict[str, str]:
    return {f"{kind}.{name}": of for kind, found in types.items() for name, of in found.items()}


def defaults(before: dict[str, Any], now: dict[str, Any]) -> Lines:
    """Yield the defaults of the configuration that changed, also those with every gate on."""
    yield from _configured(before["configuration"], now["configuration"], "")
    yield from _configured(
        before["allGates"]["configuration"],
        now["allGates"]["configuration"],
        "with every gate on, ",
    )


def _configured(before: Any, now: Any, when: str) -> Lines:
    one, other = (_by_name(value) for value in (before, now))
    for difference in differences(one, other):
        yield f"- {when}{difference}"


def _by_name(value: Any) -> Any:
    """Return a value in which lists of things with names are tables, and orders are texts."""
    if isinstance(value, dict):
        return {key: _by_name(one) for key, one in value.items()}
    if not isinstance(value, list):
        return value
    if not value or not all(isinstance(one, dict) and "name" in one for one in value):
        return [_by_name(one) for one in value]
    if all("args" in one for one in value):
        return {one["name"]: _by_name(one["args"]) for one in value}
    return " ".join(f"{one['name']} {one.get('weight') or ''}".strip() for one in value)


def plugins(before: dict[str, Any], now: dict[str, Any]) -> Lines:
    """Yield the extension points whose plugins, or the order of these, are others."""
    yield from names(before["registry"], now["registry"])
    for when, one, other in (
        ("", before, now),
        ("with every gate on, ", before["allGates"], now["allGates"]),
    ):
        for point in sorted(one["plugins"].keys() | other["plugins"].keys()):
            old, new = one["plugins"].get(point, []), other["plugins"].get(point, [])
            if old != new:
                yield f"- {when}`{point}`: {_moved(old, new)}"
        for difference in differences(one["weights"], other["weights"]):
            yield f"- {when}weight of {difference}"


def _moved(before: list[str], now: list[str]) -> str:
    parts = []
    if added := [name for name in now if name not in before]:
        parts.append(f"added {', '.join(added)}")
    if removed := [name for name in before if name not in now]:
        parts.append(f"removed {', '.join(removed)}")
    kept = [name for name in now if name in before]
    if kept != [name for name in before if name in now]:
        parts.append(f"the order is {', '.join(now)}")
    return "; ".join(parts)


def rights(before: dict[str, Any], now: dict[str, Any]) -> Lines:
    """Yield the rights of the scheduler's roles that were added or removed."""
    yield from names(before["rights"], now["rights"])
    gated = [set(one["allGates"]["rights"]) - set(one["rights"]) for one in (before, now)]
    yield from listed("added with a gate", gated[1] - gated[0] - set(before["rights"]))
    yield from listed("removed with a gate", gated[0] - gated[1] - set(now["rights"]))


def spoken(before: dict[str, set[str]], now: dict[str, set[str]]) -> Lines:
    """Yield the texts of each folder that are new or gone; those that moved are neither."""
    everything = [set().union(*one.values()) if one else set() for one in (before, now)]
    for folder in sorted(before.keys() | now.keys()):
        gone = before.get(folder, set()) - everything[1]
        new = now.get(folder, set()) - everything[0]
        if gone or new:
            yield f"- {folder}"
            yield from (f"    - gone: `{_plain(text)}`" for text in sorted(gone))
            yield from (f"    - new: `{_plain(text)}`" for text in sorted(new))


def _plain(text: str) -> str:
    return " ".join(text.replace("`", "'").split())


def decided(found: list[Change], refused: dict[str, str]) -> Lines:
    """Yield how many scenarios each plugin decides otherwise, and those with another outcome."""
    table = decisions.by_plugin(found)
    if table:
        yield from ("| plugin | decisions | scores alone | texts alone |", "|---|---|---|---|")
        for plugin, kinds in table.items():
            counts = [len(kinds.get(kind, ())) for kind in (DECISION, SCORE, TEXT)]
            if any(counts):
                yield f"| {plugin} | {' | '.join(map(str, counts))} |"
        yield ""
    for plugin, kinds in table.items():
        yield from listed(plugin, (one.name for one in kinds.get(DECISION, ())))
    for name, reason in sorted(refused.items()):
        yield f"- `{name}` is refused: {reason}"
