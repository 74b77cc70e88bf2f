"""Write docs/extension-points.md from the catalogue of extension points.

Usage: python -m tools.extension_points > docs/extension-points.md
"""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import fill

from mooring.framework.points import ExtensionPoint, Point

INTRODUCTION = (
    "Every method that a plugin can have, in the order of a scheduling attempt. "
    "[Concepts](concepts.md) draws the order; the [plugin guide](plugin-guide.md) shows the "
    "methods at work. Points have kube-scheduler's names, methods the same names in snake_case. A "
    "plugin takes part in a point by having one of its methods.",
    "`state` is the `CycleState` of the attempt, `pod` the Pod, `node` a `NodeInfo`, `node_name` "
    "the name of the chosen node, `nodes` a `Nodes`: the columns of all nodes in question. `Mask` "
    "and `Scores` are arrays with one entry per node (`mooring.typing`). `None` is agreement; "
    "[Answers](plugin-guide.md#answers) lists the others.",
)


def page() -> str:
    """Return the page as Markdown."""
    blocks = ["# Extension points", *INTRODUCTION]
    blocks += [block for point in Point for block in section(point.value)]
    return "\n\n".join(map(wrap, blocks)) + "\n"


def section(point: ExtensionPoint) -> Iterator[str]:
    """Yield the headings and paragraphs that describe one point."""
    yield f"## {point.label}"
    yield point.description
    named = "Not named in a profile's `plugins`: having the method is enough."
    if point.key:
        named = f"In a profile's `plugins`: `{point.key}`."
    yield named + (" Its methods may be `async def`." if point.may_suspend else "")
    for method in (*point.methods, *point.extensions):
        yield f"### `{method.signature}`"
        yield f"Returns {method.returns}."
        yield method.description


def wrap(block: str) -> str:
    """Return a paragraph wrapped at the line width of the other pages."""
    return fill(block, 110, break_long_words=False, break_on_hyphens=False)


if __name__ == "__main__":
    print(page(), end="")
