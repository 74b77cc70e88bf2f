"""Configurations of plugins that do nothing, loaded from text."""

from __future__ import annotations

import textwrap
from typing import Any

import msgspec
import pytest

from mooring.config import load_config_text
from mooring.errors import ConfigErrors
from tests.config.in_tree import in_tree_registry, make_plugin

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


class StrangerArgs(msgspec.Struct):
    """Arguments as a plugin author writes them: fields without renaming, and a check."""

    favorite_color: str = "blue"
    favorite_number: int = 7

    def check(self) -> None:
        if self.favorite_number < 0:
            raise ValueError(f"favorite_number must not be negative, got {self.favorite_number}")


class BrokenArgs(msgspec.Struct):
    number: int = 0

    def check(self) -> None:
        raise RuntimeError("a bug in the plugin")


class NeedyArgs(msgspec.Struct):
    node: str


REGISTRY = in_tree_registry(
    make_plugin("Stranger", "filter score", StrangerArgs),
    make_plugin("Broken", "filter", BrokenArgs),
    make_plugin("Needy", "filter", NeedyArgs),
    make_plugin("Loose", "permit"),
    make_plugin("OtherSort", "queueSort"),
)


def load(body: str, **options: Any) -> Any:
    options.setdefault("registry", REGISTRY)
    return load_config_text(HEAD + textwrap.dedent(body), file="config.yaml", **options)


def errors_of(body: str, **options: Any) -> list[str]:
    with pytest.raises(ConfigErrors) as raised:
        load(body, **options)
    return str(raised.value).split("\n")
