"""Run the tests that depend on optional parts as on a machine without these parts.

Usage: python -m tools.without_parts [PART...]

Each part alone, and then all together, or the named parts together. A part is hidden: its programs
are not on the PATH, and no variable and no cache folder names one. The tests that depend on it must
pass or be skipped, at least one of each part must be skipped. On a machine that lacks a part anyway
the result is the same.

This module is also the pytest plugin that selects those tests.
"""

from __future__ import annotations

import argparse
import ast
import os
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from tools import helm
from tools.older_kubectl import build as older_kubectl
from tools.testenv import build as testenv

ROOT = Path(__file__).resolve().parents[1]
#: Suites of their own, which need the real parts.
SUITES = ("behaviour", "groups", "kubectl")
#: Names the hidden parts to the plugin.
VARIABLE = "MOORING_WITHOUT_PARTS"
_CONTROL_PLANES = (
    "control_plane",
    "oldest_control_plane",
    "private_control_plane",
    "pod_group_control_plane",
)


class Part(NamedTuple):
    """Something that a machine may lack, and the tests that depend on it."""

    #: Programs on the PATH.
    programs: tuple[str, ...]
    #: Variables that name such a program.
    variables: tuple[str, ...] = ()
    #: Tests that use one of these fixtures depend on it.
    fixtures: tuple[str, ...] = ()
    #: Files below tests/ whose tests look for it themselves.
    files: tuple[str, ...] = ()


PARTS = {
    "go": Part(
        ("go", "gofmt"),
        ("KUBE_APISERVER", "ETCD", "KUBE_SCHEDULER", "KUBECTL", "HELM", "OLDER_KUBECTL"),
        (*_CONTROL_PLANES, "kube_scheduler", "kubectl"),
        (
            "apiserver/validation/test_pod_groups_fuzz.py",
            "faults/test_frozen_leader.py",
            "framework/test_feature_table.py",
            "local/test_custom_definitions.py",
            "observe/test_metrics.py",
            "reference/test_composite_groups.py",
            "reference/test_node_allocatable.py",
            "reference/test_resizes.py",
            "test_kubectl_steps.py",
            "tools/test_follow.py",
            "tools/test_go_modules.py",
            "tools/test_older_kubectl.py",
            "tools/test_recorder.py",
            "tools/test_testenv.py",
        ),
    ),
    "kubectl": Part(("kubectl",), ("KUBECTL",), ("kubectl",), ("test_kubectl_steps.py",)),
    "older-kubectl": Part((), ("OLDER_KUBECTL",), ("older",)),
    "helm": Part(("helm",), ("HELM",), (), ("deploy/test_chart.py",)),
    "chromium": Part(("chromium", "chromium-browser"), (), ("chromium",)),
    "prometheus": Part(
        ("prometheus", "promtool"), (), ("prometheus_program",), ("deploy/test_monitoring.py",)
    ),
    "buildah": Part(("buildah", "mmdebstrap"), (), ("container",)),
    "zsh": Part(("zsh",), (), (), ("cli/test_completion.py",)),
    "fish": Part(("fish",), (), (), ("cli/test_completion.py",)),
}


def hidden_path(programs: set[str], folder: Path, path: str) -> str:
    """Return a PATH on which some programs are not; changed folders are made anew in `folder`."""
    places = []
    for number, place in enumerate(filter(os.path.isdir, path.split(os.pathsep))):
        names = set(os.listdir(place))
        if names & programs:
            copy = folder / str(number)
            copy.mkdir(parents=True)
            for name in names - programs:
                (copy / name).symlink_to(Path(place, name).absolute())
            place = str(copy)
        places.append(place)
    return os.pathsep.join(places)


def environment(hidden: list[str], folder: Path) -> dict[str, str]:
    """Return the environment of a machine without some parts; `folder` is for its files.

    The cache folder is empty, and variables name what was built of the other parts.
    """
    known = {variable: str(path) for variable, path in testenv.built(testenv.REFERENCE).items()}
    for variable, found in (("HELM", helm.find()), ("OLDER_KUBECTL", older_kubectl.find())):
        if found is not None:
            known[variable] = str(found)
    made = {**known, **os.environ, "MOORING_TESTENV": str(folder / "cache")}
    programs: set[str] = set()
    for name in hidden:
        programs.update(PARTS[name].programs)
        for variable in PARTS[name].variables:
            made.pop(variable, None)
    # In CI a missing part is a failure.
    for variable in ("CI", "MOORING_TESTENV_REQUIRED"):
        made.pop(variable, None)
    made["PATH"] = hidden_path(programs, folder / "path", made["PATH"])
    return {**made, VARIABLE: " ".join(hidden)}


class TestFile:
    """A Python file of the tests, read but not imported."""

    def __init__(self, path: Path) -> None:
        #: The arguments of each fixture that it defines, and the strings in it: one may name a
        #: fixture for `request.getfixturevalue`.
        self.fixtures: dict[str, set[str]] = {}
        #: The arguments of all its functions.
        self.arguments: set[str] = set()
        #: The modules and names that it imports.
        self.imports: list[tuple[str, str]] = []
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom):
                self.imports += [(node.module or "", name.name) for name in node.names]
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                self._add(node)

    def _add(self, function: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        arguments = {argument.arg for argument in function.args.args}
        self.arguments |= arguments
        if any("fixture" in ast.unparse(decorator) for decorator in function.decorator_list):
            strings = (node for node in ast.walk(function) if isinstance(node, ast.Constant))
            texts = {node.value for node in strings if isinstance(node.value, str)}
            self.fixtures[function.name] = arguments | texts


@cache
def read(path: Path) -> TestFile:
    """Return a file of the tests; each is read once."""
    return TestFile(path)


class Fixtures:
    """The fixtures that test files see: their own, imported ones, and those of each conftest.py."""

    def __init__(self, parts: list[Part]) -> None:
        self._wanted = {fixture for part in parts for fixture in part.fixtures}
        self._visible: dict[Path, dict[str, set[str]]] = {}

    def dependent(self, path: Path) -> set[str]:
        """Return the fixtures of parts that a file sees, and those that use one of them."""
        seen = self._seen(path)
        found = self._wanted & seen.keys()
        while more := {name for name, used in seen.items() if used & found} - found:
            found |= more
        return found

    def uses(self, path: Path) -> bool:
        """Return whether a function of a file has such a fixture as an argument."""
        return not read(path).arguments.isdisjoint(self.dependent(path))

    def _seen(self, path: Path) -> dict[str, set[str]]:
        if path not in self._visible:
            above = path.parent if path.name != "conftest.py" else path.parent.parent
            seen: dict[str, set[str]] = {}
            for folder in (above, *above.parents):
                if folder.is_relative_to(ROOT / "tests") and (folder / "conftest.py").is_file():
                    seen = dict(self._seen(folder / "conftest.py"))
                    break
            for module, name in read(path).imports:
                source = ROOT / f"{module.replace('.', '/')}.py"
                if module.startswith("tests.") and source.is_file():
                    fixtures = read(source).fixtures
                    seen |= {name: fixtures[name]} if name in fixtures else {}
            self._visible[path] = seen | read(path).fixtures
        return self._visible[path]


def dependent_files(parts: list[Part]) -> list[str]:
    """Return the files with tests that depend on some parts."""
    tests = ROOT / "tests"
    fixtures = Fixtures(parts)
    named = {tests / file for part in parts for file in part.files}
    found = {
        file
        for file in tests.rglob("test_*.py")
        if file.relative_to(tests).parts[0] not in SUITES and fixtures.uses(file)
    }
    return sorted(str(file) for file in named | found)


class Dependent:
    """A plugin that keeps the tests that depend on some parts, and wants one to be skipped."""

    def __init__(self, names: list[str]) -> None:
        parts = [PARTS[name] for name in names]
        self._fixtures = Fixtures(parts)
        self._files = {ROOT / "tests" / file for part in parts for file in part.files}
        self._skipped = 0

    def depends(self, item: pytest.Item) -> bool:
        """Return whether a test depends on one of the parts."""
        used = getattr(item, "fixturenames", ())
        return item.path in self._files or not self._fixtures.dependent(item.path).isdisjoint(used)

    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        """Keep the tests that depend on the parts."""
        kept = [item for item in items if self.depends(item)]
        config.hook.pytest_deselected(items=[item for item in items if item not in set(kept)])
        items[:] = kept

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count the skipped tests."""
        self._skipped += report.skipped

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Fail a run in which every test found its part."""
        if exitstatus == 0 and not self._skipped:
            print("\nno test was skipped: the parts are not hidden", file=sys.stderr)
            session.exitstatus = pytest.ExitCode.INTERNAL_ERROR


def pytest_configure(config: pytest.Config) -> None:
    """Select the tests of the parts that are hidden."""
    config.pluginmanager.register(Dependent(os.environ[VARIABLE].split()))


def run(names: list[str], arguments: list[str]) -> int:
    """Run the tests that depend on some parts without these; return the exit status."""
    parts = [PARTS[name] for name in names]
    files = dependent_files(parts)
    print(f"without {', '.join(names)}:", flush=True)
    with tempfile.TemporaryDirectory(prefix="without-parts-") as folder:
        command = [sys.executable, "-m", "pytest", "-q", "-p", "tools.without_parts"]
        return subprocess.run(
            [*command, *arguments, *files], cwd=ROOT, env=environment(names, Path(folder))
        ).returncode


def main(arguments: list[str]) -> int:
    """Run the tests without each part and without all, or without the named ones."""
    parser = argparse.ArgumentParser(prog="without_parts", description="run tests without parts")
    parser.add_argument("part", nargs="*", choices=[*PARTS, []], help="parts to hide together")
    options, more = parser.parse_known_args(arguments)
    runs = [options.part] if options.part else [*([name] for name in PARTS), list(PARTS)]
    failed = [" and ".join(names) for names in runs if run(names, more) != 0]
    for names in failed:
        print(f"without_parts: tests FAILED without {names}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
