"""The recipes of CONTRIBUTING.md: in a copy of the package, their places are enough."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.test_docs import ROOT, TITLE, Block, blocks

RECIPES = list(blocks((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")))
#: Runs in the copy and prints what follows from each recipe.
PROGRAM = """
from mooring.api import Pod
from mooring.app.flag_table import ALL
from mooring.app.flags import usage
from mooring.app.command_line import read_flags
from mooring.app.options import make_options, read_feature_gates
from mooring.cli.completion import words_of
from mooring.cli.main import make_parser
from mooring.config.convert.default_plugins import today_at
from mooring.config.load import default_config
from mooring.observe.exposition import expose
from mooring.observe.families import MetricsRegistry
from mooring.observe.journal_metrics import JournalMetrics
from mooring.registry import default_registry
from mooring.testing import check_plugin, make_node, make_pod, run_filter
from mooring.virtual.simulation import schedule_all
from mooring.virtual.driving import drive
from mooring.virtual.memory_scheduler import MemoryScheduler

(profile,) = default_config(registry=default_registry()).profiles
print("NodeColor" in profile.plugins, "NodeColor" in today_at("filter"))
check_plugin(default_registry().get("NodeColor"), rounds=2)
pod = make_pod("web", labels={"color": "red"})
scheduler = MemoryScheduler([make_node("a"), make_node("b", labels={"color": "blue"}), pod])
(decision,) = drive(schedule_all(scheduler)).decisions.values()
print(decision.message)

flags = read_flags(["--greeting=hi"])
print(make_options(flags, read_feature_gates(flags)).greeting)
print("What to log at the start." in usage(ALL, program="x", width=200))
print(any("--greeting" in words.flags for words in words_of(make_parser())))

registry = MetricsRegistry()
JournalMetrics(registry).greetings.inc()
print(b"mooring_greetings_total 1" in expose(registry.collect()))
"""


def recipe(text: str) -> Block:
    """Return the block of a recipe that holds a text."""
    (block,) = (block for block in RECIPES if text in block.text)
    return block


def insert(file: Path, before: str, text: str) -> None:
    """Insert lines before the first line of a file that begins with a text."""
    content = file.read_text(encoding="utf-8")
    changed, count = re.subn(
        rf"^{re.escape(before)}", text + before, content, count=1, flags=re.MULTILINE
    )
    assert count == 1, f"{file} has no line that begins with {before!r}"
    file.write_text(changed, encoding="utf-8")


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """Return a copy of the package in which each recipe was followed."""
    package = tmp_path / "src" / "mooring"
    shutil.copytree(ROOT / "src" / "mooring", package, ignore=shutil.ignore_patterns("*.pyc"))
    plugin = recipe("class NodeColor(Plugin)")
    title = TITLE.search(plugin.info)
    assert title is not None
    (tmp_path / title[1]).write_text(plugin.text, encoding="utf-8")
    plugins = package / "plugins" / "__init__.py"
    insert(plugins, "from mooring.plugins.", "from mooring.plugins.node_color import NodeColor\n")
    insert(plugins, "    BuiltIn(ImageLocality", recipe("BuiltIn(NodeColor").text)
    table = package / "app" / "flag_table.py"
    row = '        Flag(\n            "livez-scheduling-cycle-timeout"'
    insert(table, row, recipe('Flag("greeting"').text)
    insert(package / "app" / "options.py", "    journal: str\n", recipe("greeting: str").text)
    metrics = package / "observe" / "journal_metrics.py"
    insert(metrics, "        self.active", recipe("self.greetings").text)
    return package


#: Tests of all built-in plugins and flags, which must pass in the copy too.
TABLES = (
    "plugins/test_built_ins.py",
    "config/convert/test_default_plugins.py",
    "config/test_defaults.py",
    "app/test_flags.py",
    "app/test_options.py",
)


def run(package: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python with a copy of the package."""
    environment = {**os.environ, "PYTHONPATH": str(package.parent)}
    return subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, env=environment, capture_output=True, text=True
    )


def test_places_of_the_recipes_are_enough(package: Path) -> None:
    done = run(package, "-c", f"import mooring; print(mooring.__file__){PROGRAM}")
    assert done.stderr == ""
    file, *lines = done.stdout.splitlines()
    assert file == str(package / "__init__.py")
    refused = "0/2 nodes are available: 2 node(s) had another color."
    refused += " preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling."
    assert lines == ["True True", refused, "hi", "True", "True", "True"]


def test_tables_hold_after_the_recipes(package: Path) -> None:
    tables = [str(ROOT / "tests" / table) for table in TABLES]
    done = run(package, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tables)
    assert done.returncode == 0, done.stdout
