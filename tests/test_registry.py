"""The registry: plugin classes by name, and what registration refuses."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mooring import Plugin
from mooring.errors import PluginError
from mooring.framework.points import Point
from mooring.framework.releases import NEWEST
from mooring.registry import PointsByName, Registry, load_plugin


def plugin(name: str, body: str) -> type[Plugin]:
    """Return a plugin class with this source as its body."""
    names: dict[str, Any] = {"Plugin": Plugin, "dataclass": dataclass}
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    exec(f"class {name}(Plugin):\n{lines}", names)
    found: type[Plugin] = names[name]
    return found


def test_a_plugin_is_found_by_its_name_with_its_points() -> None:
    both = plugin("Both", "def filter(self, state, pod, node): ...\ndef permit(self, *args): ...")
    registry = Registry([both])
    assert "Both" in registry
    assert registry.get("Both") is both
    assert registry.names() == ["Both"]
    assert registry.points("Both") == {Point.FILTER, Point.PERMIT}
    assert registry.points("Other") == frozenset()


SCORE = "def score(self, state, pod, node): ...\n"


@pytest.mark.parametrize(
    "body",
    [
        "def filter(self, state, pod, node): ...",
        "def filter(self, *args): ...",
        "def filter(self, state, pod, node, more=None): ...",
        SCORE + "def normalize_score(self, state, pod, scores, nodes): ...",
        SCORE + "def normalize_score(self, state, pod, scores): ...",
        "async def pre_bind(self, state, pod, node_name): ...",
        "def filter(self, state, pod, node): ...\ndef fetch(self): ...",
    ],
    ids=[
        "the parameters of the point",
        "any parameters",
        "one more parameter with a default",
        "normalize_score with nodes",
        "normalize_score without nodes",
        "a coroutine where the scheduler waits",
        "a method of its own",
    ],
)
def test_a_plugin_that_keeps_the_contract_is_registered(body: str) -> None:
    assert "Given" in Registry([plugin("Given", body)])


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            "def filter(self, state, pod): ...",
            "Given.filter(self, state, pod) cannot be called as filter(self, state, pod, node)",
        ),
        (
            SCORE + "def normalize_score(self, state, pod): ...",
            "cannot be called as normalize_score(self, state, pod, scores, nodes)",
        ),
        (
            "async def filter(self, state, pod, node): ...",
            "Given.filter is `async def`, but Filter runs inside the scheduling cycle",
        ),
        (
            "def filer(self, state, pod, node): ...",
            "Given has a method `filer`: did you mean `filter`?",
        ),
        ("def help_me(self): ...", "Given implements no extension point"),
        (
            "@dataclass\nclass Args:\n    label: str = ''\n" + SCORE,
            "Given.Args must be a msgspec.Struct, found a dataclass: write `class Args(msgspec.St",
        ),
        ('name = ""\ndef permit(self, *args): ...', "`name` must be a non-empty string, found ''"),
    ],
    ids=[
        "too few parameters",
        "normalize_score without scores",
        "a coroutine inside the cycle",
        "a misspelt point",
        "no point",
        "args of another kind",
        "no name",
    ],
)
def test_a_plugin_that_breaks_the_contract_is_refused(body: str, message: str) -> None:
    with pytest.raises(PluginError) as refused:
        Registry([plugin("Given", body)])
    assert message in str(refused.value)


def test_two_plugins_of_one_name_are_refused() -> None:
    body = "def permit(self, *args): ..."
    with pytest.raises(PluginError, match="a plugin named Twin already exists"):
        Registry([plugin("Twin", body), plugin("Twin", body)])


FILE = """\
from mooring import Plugin

class Mine(Plugin):
    def filter(self, state, pod, node): ...
"""


def test_a_file_is_loaded_by_class_or_for_its_only_plugin(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(FILE)
    assert load_plugin(f"{path}:Mine").name == "Mine"
    assert load_plugin(str(path)).name == "Mine"


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("mine", 'expected "FILE.py:Class" or "package.module:Class"'),
        ("{folder}/mine.py:Yours", "has no Yours; its plugins: Mine"),
        ("{folder}/none.py:Mine", "none.py"),
        ("mooring.errors:MooringError", "expected a class derived from mooring.Plugin"),
        ("no.such.module:Mine", "no.such.module does not load"),
    ],
    ids=["no class", "another class", "no file", "not a plugin", "no module"],
)
def test_a_reference_that_leads_nowhere_is_refused(
    tmp_path: Path, reference: str, message: str
) -> None:
    (tmp_path / "mine.py").write_text(FILE)
    with pytest.raises(PluginError) as refused:
        load_plugin(reference.format(folder=tmp_path))
    assert message in str(refused.value)


def test_a_plugin_known_by_reference_is_loaded_when_it_is_asked_for() -> None:
    registry = Registry((), {"sample": "mooring.contrib.samples.sample:Sample"})
    assert "sample" in registry
    assert registry.names() == ["sample"]
    found = registry.get("sample")
    assert found is not None
    assert found.__name__ == "Sample"
    assert registry.get("sample") is found
    assert Point.FILTER in registry.points("sample")
    assert list(registry) == [found]


def test_another_plugin_of_the_name_replaces_a_reference() -> None:
    registry = Registry((), {"Gone": "no.such.module:Gone"})
    mine = plugin("Gone", "def permit(self, *args): ...")
    registry.register(mine)
    assert registry.get("Gone") is mine
    assert registry.names() == ["Gone"]


def test_the_points_of_plugins_are_read_one_by_one() -> None:
    both = plugin("Both", "def filter(self, state, pod, node): ...\ndef permit(self, *args): ...")
    points = PointsByName(Registry([both], {"Gone": "no.such.module:Gone"}), NEWEST)
    assert points["Both"] == {Point.FILTER, Point.PERMIT}
    assert (list(points), len(points)) == (["Both", "Gone"], 2)
    assert "Gone" in points
    assert points.get("Other") is None
    with pytest.raises(PluginError, match=r"no\.such\.module does not load"):
        points.get("Gone")
