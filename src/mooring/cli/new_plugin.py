"""`mooring new-plugin`: write a plugin that works, with its test and its configuration."""

from __future__ import annotations

import argparse
import importlib.util
import keyword
import os
import re
import shlex
import sys
from pathlib import Path

from mooring.cli.commands import COMMANDS
from mooring.errors import ConfigError, PluginError

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*([-_.][A-Za-z0-9]+)*")
_NAME_LIMIT = 63
#: Modules that a plugin's file must not shadow, and classes that the file imports.
_MODULES_USED = frozenset({"mooring", "msgspec", "numpy", "pytest"})
_CLASSES_USED = frozenset({"Plugin", "Status"})

_PLUGIN = '''\
"""{name}: keep pods on labelled nodes, and prefer those that run few pods."""

import msgspec
from mooring import MAX_NODE_SCORE, Plugin, Status


class {cls}(Plugin):
    """Keep pods on nodes that carry a label, and prefer those that run few pods."""

    name = "{name}"

    class Args(msgspec.Struct):
        """What pluginConfig may set."""

        label: str = "example.com/{name}"
        value: str = "true"

    def filter(self, state, pod, node):
        """Refuse a node without the label."""
        label, value = self.args.label, self.args.value
        if node.labels.get(label) != value:
            return Status.unschedulable(f"node(s) lacked the label {{label}}={{value}}")

    def score(self, state, pod, node):
        """Score a node, from 0 to 100: each pod on it costs a point."""
        return max(0, MAX_NODE_SCORE - len(node.pods))
'''

_TEST = """\
from mooring.testing import check_plugin, make_node, make_pod, run_cycle, run_filter, run_score

from {module} import {cls}

LABELLED = {{"example.com/{name}": "true"}}


def test_only_labelled_nodes_pass():
    nodes = [make_node("a", labels=LABELLED), make_node("b")]
    result = run_filter({cls}, pod=make_pod("p"), nodes=nodes)
    assert result.feasible == ["a"]
    assert result.reasons == {{"node(s) lacked the label example.com/{name}=true": 1}}


def test_the_label_is_an_argument():
    nodes = [make_node("a", labels=LABELLED), make_node("b", disk="ssd")]
    args = {{"label": "disk", "value": "ssd"}}
    assert run_filter({cls}, pod=make_pod("p"), nodes=nodes, args=args).feasible == ["b"]


def test_a_node_with_fewer_pods_is_better():
    nodes = [make_node("a", labels=LABELLED), make_node("b", labels=LABELLED)]
    there = [make_pod("there", node="a")]
    result = run_score({cls}, pod=make_pod("p"), nodes=nodes, pods=there)
    assert result.raw == {{"a": 99, "b": 100}}


def test_the_scheduler_runs_it():
    decision = run_cycle(pod=make_pod("p"), nodes=[make_node("a")], plugins=[{cls}])
    assert "1 node(s) lacked the label" in decision.message


def test_the_contract_is_kept():
    check_plugin({cls})
"""

_CONFIG = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  plugins:
    multiPoint:
      enabled:
      - name: {name}
  pluginConfig:
  - name: {name}
    args:
      label: example.com/{name}
      value: "true"
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `new-plugin`."""
    parser = subparsers.add_parser(
        "new-plugin",
        help=COMMANDS["new-plugin"].help,
        description="Write NAME as a plugin that works, a test of it that passes, and a "
        "configuration that runs it. Nothing is overwritten.",
    )
    parser.add_argument("name", metavar="NAME", help="the name of the plugin, such as prefer-ssd")
    parser.add_argument(
        "--dir",
        default=".",
        metavar="DIR",
        help="the folder to write to; created if it does not exist",
    )
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> int:
    name: str = args.name
    module, cls = _names(name)
    folder = Path(args.dir)
    texts = {
        folder / f"{module}.py": _PLUGIN,
        folder / f"test_{module}.py": _TEST,
        folder / f"{module}.yaml": _CONFIG,
    }
    words = {"name": name, "module": module, "cls": cls}
    _write(folder, {path: text.format(**words) for path, text in texts.items()})
    plugin, test, config = (shlex.quote(str(path)) for path in texts)
    install = ""
    if importlib.util.find_spec("pytest") is None:
        install = "  python -m pip install 'mooring[test]'\n"
    print(
        f"Wrote {plugin}, {test} and {config}. Next:\n"
        f"{install}"
        f"  python -m pytest {test}\n"
        f"  mooring schedule -f MANIFESTS --config {config} --plugin {plugin}:{cls}"
    )
    return 0


def _names(name: str) -> tuple[str, str]:
    """Return the module and class names of a plugin; raise PluginError if its name is invalid."""
    from mooring.registry import default_registry

    if not _NAME.fullmatch(name) or len(name) > _NAME_LIMIT:
        raise PluginError(
            f"the name must begin with a letter and consist of letters and digits, in parts joined "
            f'by "-", "_" or ".", {_NAME_LIMIT} characters at most; try prefer-ssd',
            plugin=name,
        )
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+|[0-9]+", name)
    module = "_".join(words).lower()
    cls = "".join(word[0].upper() + word[1:] for word in words)
    if name in default_registry():
        raise PluginError("a plugin of this name already exists; choose another name", plugin=name)
    taken = (
        module in sys.stdlib_module_names
        or module in _MODULES_USED
        or cls in _CLASSES_USED
        or keyword.iskeyword(module)
        or keyword.iskeyword(cls)
    )
    if taken:
        raise PluginError(
            f"{module}.py with a class {cls} would shadow a name of Python or Mooring; "
            f"try {name}-plugin",
            plugin=name,
        )
    if words[0].lower() == "test":
        raise PluginError(f"pytest would treat {module}.py as a test", plugin=name)
    return module, cls


def _write(folder: Path, texts: dict[Path, str]) -> None:
    """Write all files or none of them."""
    for path in texts:
        if os.path.lexists(path):
            raise ConfigError("already exists; nothing was overwritten", file=str(path))
    written: list[Path] = []
    path = folder
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path, text in texts.items():
            with path.open("x", encoding="utf-8") as file:
                written.append(path)
                file.write(text)
    except OSError as error:
        for done in written:
            done.unlink(missing_ok=True)
        raise ConfigError(error.strerror or str(error), file=str(path)) from error
