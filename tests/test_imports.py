"""The import order of the rooms, and what importing the contract may cost."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import mooring
import mooring.api
from mooring.framework import feature_table
from mooring.plugins import BUILT_INS

PACKAGE = Path(__file__).resolve().parents[1] / "src" / "mooring"

# A room may import itself and the rooms on earlier lines. `mooring` is the public face
# (mooring/__init__.py), which re-exports the contract.
ORDER = (
    {"errors"},
    {"typing"},
    {"api"},
    {"observe"},
    {"cel"},
    {"framework"},
    {"mooring"},
    {"preemption"},
    {"plugins", "contrib"},
    {"registry"},
    {"config"},
    {"client"},
    {"informers"},
    {"controlplane"},
    {"cache"},
    {"queue"},
    {"cycle"},
    {"extenders"},
    {"binding"},
    {"scheduler"},
    {"explain"},
    {"journal"},
    {"serve"},
    {"leader"},
    {"app"},
    {"extender"},
    {"virtual"},
    {"apiserver"},
    {"controllers"},
    {"kubelet"},
    {"local"},
    {"shadow"},
    {"replay"},
    {"ui"},
    {"testing"},
    {"cli"},
    {"__main__"},
)
RANK = {room: rank for rank, rooms in enumerate(ORDER) for room in rooms}

# Built-in plugins and those of contrib use the modules of the contract, as any other plugin does;
# contrib also uses the public face.
CONTRACT = {"errors", "typing", "api", "observe", "cel", "framework", "preemption"}
ALLOWED = {"plugins": CONTRACT, "contrib": CONTRACT | {"mooring"}}


def room_of(module: str) -> str:
    """Name the room of a dotted module name."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "mooring"


def module_name(path: Path) -> str:
    """Name the module that a file of the package defines."""
    parts = ("mooring", *path.relative_to(PACKAGE).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported_rooms(tree: ast.AST, package: str) -> Iterator[tuple[int, str]]:
    """Yield (line, room) for every import of the package, wherever it stands in the file."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "mooring":
                    yield node.lineno, room_of(alias.name)
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            if node.level:
                above = package.split(".")
                above = above[: len(above) - node.level + 1]
                module = ".".join([*above, *filter(None, [node.module])])
            if module == "mooring":
                for alias in node.names:
                    yield node.lineno, alias.name if alias.name in RANK else "mooring"
            elif module.startswith("mooring."):
                yield node.lineno, room_of(module)


def allowed(importer: str, imported: str) -> bool:
    """Tell whether one room may import the other."""
    if importer == imported:
        return True
    if importer in ALLOWED:
        return imported in ALLOWED[importer]
    return RANK[imported] < RANK[importer]


def runs_later(node: ast.stmt) -> bool:
    """Tell whether a statement imports nothing while its module is loaded."""
    if isinstance(node, ast.If):
        return ast.unparse(node.test) == "TYPE_CHECKING"
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)


def violations(source: str, module: str, is_package: bool = False) -> list[str]:
    """List the imports of a module that go against the order."""
    tree = ast.parse(source)
    if module == "mooring":
        # The public face resolves mooring.main in a function, when it is first used; type checkers
        # are told where it comes from.
        tree.body = [node for node in tree.body if not runs_later(node)]
    room = room_of(module)
    package = module if is_package else module.rpartition(".")[0]
    return [
        f"line {line}: {room} imports {imported}"
        for line, imported in imported_rooms(tree, package)
        if imported not in RANK or not allowed(room, imported)
    ]


FILES = sorted(PACKAGE.rglob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_imports_go_one_way(path: Path) -> None:
    module = module_name(path)
    assert room_of(module) in RANK, "give the new room a place in ORDER"
    assert violations(path.read_text(), module, path.name == "__init__.py") == []


@pytest.mark.parametrize(
    ("module", "source", "expected"),
    [
        pytest.param(
            "mooring.queue.active", "import mooring.cache.nodes", [], id="an earlier room"
        ),
        pytest.param(
            "mooring.cache.nodes",
            "from mooring.queue import active",
            ["line 1: cache imports queue"],
            id="a later room",
        ),
        pytest.param(
            "mooring.cache.nodes",
            "from mooring import queue",
            ["line 1: cache imports queue"],
            id="a later room by its name alone",
        ),
        pytest.param(
            "mooring.cache.nodes",
            "from ..queue import active\nfrom . import pods",
            ["line 1: cache imports queue"],
            id="a later room by a relative import",
        ),
        pytest.param(
            "mooring.cache.nodes",
            "def f():\n    import mooring.queue",
            ["line 2: cache imports queue"],
            id="a later room inside a function",
        ),
        pytest.param(
            "mooring.cache.nodes",
            "if TYPE_CHECKING:\n    from mooring.queue.active import ActiveQueue",
            ["line 2: cache imports queue"],
            id="a later room for its types",
        ),
        pytest.param(
            "mooring.contrib.samples.sample",
            "from mooring import Plugin\nimport mooring.plugins.node_name",
            ["line 2: contrib imports plugins"],
            id="contrib uses the public face and no built-in",
        ),
        pytest.param(
            "mooring.plugins.node_name",
            "from mooring import contrib\nfrom mooring import Plugin\nimport mooring.api.pod",
            ["line 1: plugins imports contrib", "line 2: plugins imports mooring"],
            id="built-ins use the contract alone",
        ),
        pytest.param(
            "mooring",
            "from mooring.app import scheduler_process\n"
            "if TYPE_CHECKING:\n    from mooring.cli.main import main\n"
            "def __getattr__(name):\n    from mooring.cli.main import main",
            ["line 1: mooring imports app"],
            id="the public face loads the application only when it is used",
        ),
        pytest.param(
            "mooring.cli.main",
            "import mooring.attic",
            ["line 1: cli imports attic"],
            id="a room that has no place in the order",
        ),
    ],
)
def test_the_order_is_enforced(module: str, source: str, expected: list[str]) -> None:
    assert violations(source, module) == expected


def test_contributing_shows_the_order() -> None:
    text = (PACKAGE.parents[1] / "CONTRIBUTING.md").read_text()
    shown = next(block for block in text.split("```") if "errors < typing" in block)
    rooms = [set(rank.strip().split(", ")) for rank in shown.removeprefix("text\n").split("<")]
    assert rooms == [rank for rank in ORDER if not rank & {"mooring", "__main__"}]


def test_the_contract_loads_no_server() -> None:
    program = "import sys; from mooring import Plugin; print(*sys.modules, sep='\\n')"
    command = [sys.executable, "-c", program]
    loaded = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    assert "mooring.framework.plugin" in loaded
    assert {"aiohttp", "cryptography"}.isdisjoint(loaded)


def test_the_public_face_alone_loads_nothing() -> None:
    program = "import sys, mooring; dir(mooring); print(*sys.modules, sep='\\n')"
    command = [sys.executable, "-c", program]
    loaded = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    assert {name for name in loaded if name.partition(".")[0] == "mooring"} == {"mooring"}
    assert {"msgspec", "numpy"}.isdisjoint(loaded)


def imported_for_types(package: ModuleType) -> dict[str, str]:
    """Return the names that a package imports for type checkers, and the module of each."""
    (block,) = (
        node
        for node in ast.parse(inspect.getsource(package)).body
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    )
    return {
        alias.name: node.module or ""
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


@pytest.mark.parametrize("package", [mooring, mooring.api], ids=lambda package: package.__name__)
def test_a_name_that_is_loaded_on_first_use_is_that_of_type_checkers(package: ModuleType) -> None:
    modules = imported_for_types(package)
    assert sorted({*modules, "__version__"} & {*package.__all__}) == sorted(package.__all__)
    assert set(package.__all__) <= set(dir(package))
    for name, module in modules.items():
        # Loaded again, as in a process in which nobody has used it.
        vars(package).pop(name, None)
        assert getattr(package, name) is getattr(importlib.import_module(module), name), name
    with pytest.raises(AttributeError, match=f"module '{package.__name__}' has no attribute 'x'"):
        package.x  # noqa: B018


@pytest.mark.parametrize("package", [mooring, mooring.api], ids=lambda package: package.__name__)
def test_no_public_name_is_that_of_a_module(package: ModuleType) -> None:
    # Loading the module would replace the name.
    modules = {module.name for module in pkgutil.iter_modules(package.__path__)}
    assert modules & set(package.__all__) == set()


def test_the_public_face_is_imported_by_star_and_shown_by_help() -> None:
    program = """
import gc, pickle, pydoc, mooring
packages = (mooring.api, mooring.errors, mooring.framework, mooring.observe, mooring.typing)
from mooring import *
assert gc.isenabled()
assert pickle.loads(pickle.dumps(Status.unschedulable("no"))) == Status.unschedulable("no")
assert pickle.loads(pickle.dumps(Plugin)) is Plugin is mooring.Plugin
print(sorted(set(mooring.__all__) - set(globals()) - {"__version__"}))
text = pydoc.plain(pydoc.render_doc(mooring))
print([name for name in mooring.__all__ if name not in text and name != "__version__"])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "[]\n[]\n"), done.stderr


def test_importing_changes_no_logger() -> None:
    program = """
import importlib, logging, pkgutil, mooring
for found in pkgutil.walk_packages(mooring.__path__, "mooring."):
    if not found.name.endswith("__main__"):
        importlib.import_module(found.name)
loggers = [logging.getLogger(), *map(logging.getLogger, logging.root.manager.loggerDict)]
for one in loggers:
    ours = one is logging.root or one.name.startswith("mooring")
    if ours and (one.filters or one.handlers or one.disabled or not one.propagate):
        print(one.name)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


ONE_TEST = """
import sys

from mooring import Plugin, Status
from mooring.testing import check_plugin, make_node, make_pod, run_cycle, run_filter, run_score


class Mine(Plugin):
    def filter(self, state, pod, node):
        if node.labels.get("cpu") != "true":
            return Status.unschedulable("node(s) lacked the label cpu=true")


def test_pods_go_to_labelled_nodes():
    nodes = [make_node("a", labels={"cpu": "true"}), make_node("b")]
    assert run_filter(Mine, pod=make_pod("web"), nodes=nodes).feasible == ["a"]
"""
#: What a test of one plugin has no use for; each takes long to load.
HEAVY = {
    "aiohttp",
    "asyncio",
    "cryptography",
    "httptools",
    "mooring.apiserver",
    "mooring.cel",
    "mooring.client",
    "mooring.config.load",
    "mooring.virtual.memory_scheduler",
    "mooring.plugins",
    "mooring.serve",
    "prometheus_client",
    "ssl",
    "yaml",
}
#: The modules of Mooring that a test of one plugin loads, with some room.
MOST = 132


def test_a_test_of_one_plugin_loads_little() -> None:
    # Names that are loaded on first use are left out.
    code = ONE_TEST.replace("run_cycle, ", "")
    code += "\n\ntest_pods_go_to_labelled_nodes()\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert sorted(loaded & HEAVY) == []
    assert len([name for name in loaded if name.partition(".")[0] == "mooring"]) <= MOST


def test_a_strangers_pytest_shows_no_warning(tmp_path: Path) -> None:
    more = """

def test_the_contract_is_kept():
    check_plugin(Mine, rounds=2)


def test_scores_and_cycles():
    assert run_cycle(pod=make_pod("p"), nodes=[make_node("a")], plugins=[Mine]).node_name == ""
"""
    (tmp_path / "test_mine.py").write_text(ONE_TEST + more)
    (tmp_path / "pytest.ini").write_text("[pytest]\nfilterwarnings = error\n")
    # A stranger need not have these plugins, whose own warnings are not ours.
    others = [f"-pno:{name}" for name in ("asyncio", "hypothesispytest", "xdist")]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *others, "test_mine.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "warning" not in (done.stdout + done.stderr).lower()


#: The rooms that run plugins without knowing any of them.
ENGINE = ("cache", "queue", "cycle", "extenders", "binding", "scheduler")
#: The rooms of plugins.
PLUGINS = {"plugins", "contrib"}
GATES = {row[0] for row in feature_table.ROWS}


def plugins_named_in(tree: ast.AST, package: str) -> Iterator[tuple[int, str]]:
    """Yield (line, text) for every string that names a built-in plugin, and import of plugins."""
    names = {plugin.name for plugin in BUILT_INS} - GATES
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            words = set(re.findall(r"\w+", node.value))
            if id(node) not in docstrings and words & names:
                yield node.lineno, node.value
    yield from ((line, room) for line, room in imported_rooms(tree, package) if room in PLUGINS)


@pytest.mark.parametrize("room", ENGINE)
def test_engine_names_no_plugin(room: str) -> None:
    found = {
        path.relative_to(PACKAGE).as_posix(): list(
            plugins_named_in(ast.parse(path.read_text()), f"mooring.{room}")
        )
        for path in sorted((PACKAGE / room).rglob("*.py"))
    }
    assert {path: lines for path, lines in found.items() if lines} == {}


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        pytest.param('x = "the plugin NodeName"', {1}, id="a text"),
        pytest.param('x = f"{y} of DynamicResources"', {1}, id="a formatted text"),
        pytest.param('if name == "DynamicResources": ...', {1}, id="a comparison"),
        pytest.param('x = {"DefaultPreemption": 1}', {1}, id="a key"),
        pytest.param('match name:\n    case "NodeName": ...', {2}, id="a pattern"),
        pytest.param("from mooring.plugins.args import A", {1}, id="an import from a module"),
        pytest.param("import mooring.plugins.args", {1}, id="an import of a module"),
        pytest.param("from mooring import plugins", {1}, id="an import of the room"),
        pytest.param("from ..plugins import BUILT_INS", {1}, id="a relative import"),
        pytest.param("def f():\n    import mooring.contrib", {2}, id="an import in a function"),
        pytest.param('y = "NodeNames"', set(), id="another word"),
        pytest.param('gates.enabled("NodeDeclaredFeatures")', set(), id="a gate"),
        pytest.param('"""Of NodeName."""', set(), id="a docstring"),
    ],
)
def test_name_of_a_plugin_is_detected(source: str, lines: set[int]) -> None:
    found = plugins_named_in(ast.parse(source), "mooring.queue")
    assert {line for line, _ in found} == lines
