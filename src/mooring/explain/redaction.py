"""Redaction: the names of nodes and other pods are hidden from readers who may not see them.

Names stand in fields of their own and within texts: messages, reasons, what plugins say about a
node. Every text is searched, so that a name leaks through no field that a plugin fills. Names are
found as whole words; text that only looks like the name of a pod is hidden too, because a name
that is shown by mistake is worse than a word that is missing.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

#: What stands in place of a pod that the reader may not get.
HIDDEN_POD = "another pod"

#: Fields that hold names of nodes and nothing else; their texts need not be known names.
_NODE_FIELDS = frozenset(
    {
        "bestNodes",
        "chosenNode",
        "currentNode",
        "node",
        "nodes",
        "nominatedNode",
        "preFilterNodes",
    }
)
#: Fields that hold "namespace/name" of pods and nothing else.
_POD_FIELDS = frozenset({"victims", "pods"})
#: Fields whose texts are not about nodes or other pods. `podGroup` is the pod's own, and
#: `compositePodGroup` the top of its tree.
_PLAIN_FIELDS = frozenset(
    {
        "code",
        "compositePodGroup",
        "name",
        "namespace",
        "outcome",
        "plugin",
        "podGroup",
        "profile",
        "resource",
        "uid",
    }
)
#: A traceback shows values of a plugin's variables, and paths that look like names of pods.
_LEFT_OUT = frozenset({"traceback"})

#: The characters of "namespace/name", and of the name of a node.
_KEY_RUN = re.compile(r"[A-Za-z0-9_.-]+(?:/[A-Za-z0-9_.-]+)+")
_NAME_RUN = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]*")
_NAMESPACE = re.compile(r"[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?")
_POD = re.compile(r"([a-z0-9](?:[-.a-z0-9]*[a-z0-9])?)([-.]*)")
_SEPARATOR = re.compile(r"([.-])")


def mentioned_pods(data: Any) -> set[str]:
    """Return "namespace/name" of every pod that data mentions, or seems to mention."""
    found: set[str] = set()
    for field, text in _texts(data, ""):
        if field in _POD_FIELDS:
            found.add(text)
        elif field not in _PLAIN_FIELDS:
            for run in _KEY_RUN.findall(text):
                found.update(key for key, _, _ in _keys(run.split("/")))
    return found


def hide_pods(data: Any, hidden: Collection[str]) -> Any:
    """Return data without the names of some pods, given as "namespace/name"."""
    if not hidden:
        return _rewritten(data, "", lambda field, text: text)

    def hide(match: re.Match[str]) -> str:
        return _without_pods(match[0], hidden)

    def rewrite(field: str, text: str) -> str:
        if field in _POD_FIELDS:
            return HIDDEN_POD if text in hidden else text
        return _KEY_RUN.sub(hide, text)

    return _rewritten(data, "", rewrite)


def hide_nodes(data: Any, known: Iterable[str] = (), words: str = "") -> Any:
    """Return data in which nodes are called "node 1", "node 2"…, the same one always the same.

    `known` are names of nodes that texts may hold, beside those in fields of their own. Names in
    `words`, which the pod's owner wrote, stay: otherwise a guess at the name of a node, for example
    as that of a claim, would be hidden only if it is right.
    """
    own = (text for field, text in _texts(data, "") if field in _NODE_FIELDS and text)
    hidden = dict.fromkeys((*own, *(name for name in known if name not in words)))
    names = {name: f"node {number}" for number, name in enumerate(hidden, 1)}
    longest = max((name.count(".") + name.count("-") + 1 for name in names), default=0)

    def hide(match: re.Match[str]) -> str:
        return _aliased(match[0], names, longest)

    return _rewritten(
        data,
        "",
        lambda field, text: (
            names.get(text) or _NAME_RUN.sub(hide, text)
            if field not in _NODE_FIELDS
            else names.get(text, text)
        ),
    )


def _texts(data: Any, field: str) -> Iterator[tuple[str, str]]:
    """Yield every text with the field it stands in; nodes' own list comes first."""
    if isinstance(data, str):
        yield field, data
    elif isinstance(data, Mapping):
        for key in sorted(data, key=lambda one: one != "nodes"):
            # Where "example" is a text, it is the name of a node.
            named = "node" if key == "example" and isinstance(data[key], str) else key
            yield from _texts(data[key], named)
    elif isinstance(data, list | tuple):
        for one in data:
            yield from _texts(one, field)


def _rewritten(data: Any, field: str, rewrite: Callable[[str, str], str]) -> Any:
    if isinstance(data, str):
        if field in _LEFT_OUT:
            return ""
        return data if field in _PLAIN_FIELDS else rewrite(field, data)
    if isinstance(data, Mapping):
        return {key: _rewritten(value, key, rewrite) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_rewritten(one, field, rewrite) for one in data]
    return data


def _keys(parts: list[str]) -> Iterator[tuple[str, int, str]]:
    """Yield each "namespace/name" among the parts of a path, its place, and what follows it."""
    for place, (namespace, rest) in enumerate(itertools.pairwise(parts)):
        pod = _POD.fullmatch(rest)
        if pod is None or not _NAMESPACE.fullmatch(namespace):
            continue
        # "0/5 nodes are available" counts nodes.
        if not (namespace.isdigit() and pod[1].isdigit()):
            yield f"{namespace}/{pod[1]}", place, pod[2]


def _without_pods(run: str, hidden: Collection[str]) -> str:
    parts = run.split("/")
    found = {place: after for key, place, after in _keys(parts) if key in hidden}
    shown: list[str] = []
    place = 0
    while place < len(parts):
        if place in found:
            shown.append(HIDDEN_POD + found[place])
            place += 2
        else:
            shown.append(parts[place])
            place += 1
    return "/".join(shown)


def _aliased(run: str, names: Mapping[str, str], longest: int) -> str:
    """Return a run of words with the longest names of nodes in it replaced."""
    if run in names:
        return names[run]
    # Words at even places, the characters between them at odd ones.
    parts = _SEPARATOR.split(run)
    shown: list[str] = []
    place = 0
    while place < len(parts):
        last = min(len(parts), place + 2 * longest - 1)
        for end in range(last - (last - place + 1) % 2, place, -2):
            if (name := "".join(parts[place:end])) in names:
                shown.append(names[name])
                place = end
                break
        else:
            shown.append(parts[place])
            place += 1
        if place < len(parts):
            shown.append(parts[place])
            place += 1
    return "".join(shown)
