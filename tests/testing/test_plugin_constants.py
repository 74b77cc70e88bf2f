from __future__ import annotations

from typing import Any

import msgspec

from mooring import Plugin
from mooring.testing.plugin_constants import words_of

LABEL = "example.com/pool"


def _pool(node: Any) -> Any:
    return node.labels.get(LABEL) or node.labels.get("pool")


class Pooled(Plugin):
    """A plugin that uses words from several places."""

    class Args(msgspec.Struct):
        pools: tuple[str, ...] = ("gold",)
        names: dict[str, str] = {}

    default = "bronze"

    def filter(self, state: Any, pod: Any, node: Any) -> None:
        wanted = [name for name in ("platinum", "no label at all", "") if _pool(node) == name]
        assert not wanted


def test_words_come_from_code_from_what_it_uses_and_from_args() -> None:
    words = words_of(Pooled, Pooled.Args(names={"a": "silver"}))
    wanted = {"pool", "platinum", "gold", "silver", "bronze"}
    assert wanted | {LABEL} <= set(words.keys)
    assert wanted <= set(words.values)
    assert LABEL not in words.values, "a value has no slash"


def test_what_cannot_be_a_label_is_left_out() -> None:
    words = words_of(Pooled)
    assert "no label at all" not in words.keys
    assert "" not in words.keys
    assert not any(" " in word for word in words.values)
