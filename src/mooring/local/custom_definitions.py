"""The definitions of the custom resources that the plugins of mooring.contrib read.

They come in sets, as `mooring up --crds` names them. tools/crds.py writes the files.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib.resources import files
from typing import Any

import yaml

from mooring.errors import ConfigError

#: The sets, in the order in which they are listed.
SETS = ("scheduling", "topology", "appgroup", "networktopology", "seccomp")
ALL = "all"

#: The sets that a plugin needs.
SETS_OF_PLUGIN = {
    "Coscheduling": ("scheduling",),
    "CapacityScheduling": ("scheduling",),
    "NodeResourceTopologyMatch": ("topology",),
    "NetworkOverhead": ("appgroup", "networktopology"),
    "TopologicalSort": ("appgroup",),
    "SySched": ("seccomp",),
}


def parse_sets(text: str) -> tuple[str, ...]:
    """Return the sets that a text such as "scheduling,topology" or "all" names.

    Raise ConfigError if it names another one.
    """
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in (*SETS, ALL):
            known = ", ".join((*SETS, ALL))
            raise ConfigError(f"there is no set of custom resources {name!r}; choose from {known}")
    return SETS if ALL in names else tuple(name for name in SETS if name in names)


def sets_for(plugins: Iterable[str]) -> tuple[str, ...]:
    """Return the sets that some plugins need."""
    needed = {name for plugin in plugins for name in SETS_OF_PLUGIN.get(plugin, ())}
    return tuple(name for name in SETS if name in needed)


def definitions(names: Iterable[str]) -> list[dict[str, Any]]:
    """Return the CustomResourceDefinitions of some sets."""
    return [found for name in names for found in yaml.safe_load_all(definitions_text(name))]


def definitions_text(name: str) -> str:
    """Return the CustomResourceDefinitions of a set as YAML."""
    return (files("mooring.local") / "crds" / f"{name}.yaml").read_text(encoding="utf-8")
