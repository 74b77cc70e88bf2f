"""Running: each mutant in its own process, against the tests of its room that run its line.

One process per room has loaded the room and collected its tests. Each mutant is a fork of it in
which the changed function has the code of the mutant. It runs the tests that run the changed line,
the fastest first, until one fails. Code that runs when a module is imported cannot be changed
afterwards, nor can code whose free variables change, so such a mutant is a fork of a process that
has only loaded libraries; it imports the changed module and runs all tests of the room. No source
file is written.
"""

from __future__ import annotations

import gc
import os
import pickle
import resource
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import FunctionType

import pytest
from hypothesis import Phase, settings

from tools.mutants.drawing import Mutant
from tools.mutants.installing import (
    functions_of,
    import_mutant,
    replace_functions,
    replaceable,
)
from tools.mutants.process import BROKEN, Process
from tools.mutants.survey import NO_TEST, Survey, Surveyor

#: A run that takes this many times as long as without the mutant, plus some seconds, has hung.
SLOWER = 10
#: Seconds that all tests of a room may take, and all its mutants together.
SURVEY_LIMIT = 1800
ROOM_LIMIT = 6 * 3600
#: Bytes of address space that a mutant may take.
MEMORY = 8 << 30

ARGUMENTS = ["-q", "-x", "--capture=sys", "--no-header", "-p", "no:cacheprovider"]
ARGUMENTS += ["-p", "no:xdist"]
# Plugins of pytest are loaded before pytest starts.
ARGUMENTS += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]

SURVIVED, KILLED = 0, 1

#: Called with a mutant, whether it was killed, and why it survived.
Tell = Callable[[Mutant, bool, str], None]


class Room:
    """The files and tests of one folder of a package."""

    def __init__(self, package: Path, name: str, tests: Path, patience: float) -> None:
        self.name = name
        self._patience = patience
        self.source = package / name
        self._package = package
        self._tests = tests / name

    @property
    def files(self) -> list[Path]:
        """The files that mutants are drawn from."""
        return sorted(self.source.rglob("*.py"))

    @property
    def tests(self) -> list[str]:
        """The room's tests, and its files, for the examples in docstrings."""
        return [str(path) for path in (self._tests, self.source) if path.exists()]

    def limit(self, tests: Iterable[str], survey: Survey) -> float:
        """Return how many seconds some tests may take with a mutant."""
        return self._patience + SLOWER * sum(survey.seconds[test] for test in tests)

    def module(self, path: Path) -> str:
        """Return the name of the module that a file defines."""
        parts = path.relative_to(self._package.parent).with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def run(room: Room, mutants: list[Mutant], folder: Path, tell: Tell) -> None:
    """Run the mutants of a room and call `tell` for each; exit if a test fails without mutant."""
    report, output = folder / f"{room.name}.report", folder / f"{room.name}.output"
    loop = _Loop(room, mutants, report, tell)

    def work() -> int:
        loop.surveyor.start()
        return int(pytest.main([*ARGUMENTS, *room.tests], plugins=[loop, _Examples()]))

    status = Process(work, ROOM_LIMIT, str(output), grace=30).wait()
    if status != 0 or not report.exists():
        raise SystemExit(f"{room.name}: cannot run the tests\n{output.read_text()}")
    survey: Survey = pickle.loads(report.read_bytes())
    for mutant in mutants:
        if _at_import(mutant, survey):
            tell(mutant, *_run_imported(room, mutant, survey))


def _at_import(mutant: Mutant, survey: Survey) -> bool:
    if mutant.at_import or NO_TEST in survey.of(str(mutant.path.resolve()), mutant.lines):
        return True
    return not replaceable(mutant)


def _in_order(tests: Iterable[str], survey: Survey) -> list[str]:
    return sorted(tests, key=survey.seconds.__getitem__)


def _outcome(status: int, mutant: Mutant) -> tuple[bool, str]:
    if status == BROKEN:
        raise SystemExit(f"{mutant}: cannot be run")
    return status != SURVIVED, ""


def _bound_memory() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def _run_imported(room: Room, mutant: Mutant, survey: Survey) -> tuple[bool, str]:
    tests = _in_order(survey.seconds, survey)

    def work() -> int:
        import_mutant(mutant, room.module(mutant.path))
        _bound_memory()
        plugins = [_Chosen(tests), _Examples()]
        return min(int(pytest.main([*ARGUMENTS, *room.tests], plugins=plugins)), KILLED)

    return _outcome(Process(work, room.limit(tests, survey), os.devnull).wait(), mutant)


class _Chosen:
    """A pytest plugin that runs some of the tests collected, in a given order."""

    def __init__(self, tests: list[str]) -> None:
        self._order = {test: number for number, test in enumerate(tests)}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        kept = [item for item in items if item.nodeid in self._order]
        items[:] = sorted(kept, key=lambda item: self._order[item.nodeid])


class _Examples:
    """A pytest plugin that makes hypothesis use the same examples, without shrinking them."""

    def pytest_collection(self) -> None:
        settings.register_profile(
            "mutants",
            deadline=None,
            derandomize=True,
            database=None,
            report_multiple_bugs=False,
            phases=[Phase.explicit, Phase.generate],
        )
        settings.load_profile("mutants")


class _Loop:
    """A pytest plugin that surveys the tests collected, then runs them for each mutant."""

    def __init__(self, room: Room, mutants: list[Mutant], report: Path, tell: Tell) -> None:
        self.surveyor = Surveyor({str(path.resolve()) for path in room.files})
        self._room = room
        self._mutants = mutants
        self._report = report
        self._tell = tell

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Replace pytest's own loop."""
        if session.testsfailed:
            raise session.Interrupted("errors during collection")
        gc.collect()
        functions = functions_of(self.surveyor.files)
        # Frozen objects are not touched by the collector, so forks share their memory.
        gc.freeze()
        survey_run = Process(lambda: self._survey(session), SURVEY_LIMIT)
        self.surveyor.stop()
        if survey_run.wait() != 0:
            raise session.Failed("the tests fail without a mutant")
        survey: Survey = pickle.loads(self._report.read_bytes())
        for mutant in self._mutants:
            if not _at_import(mutant, survey):
                known = functions[str(mutant.path.resolve())]
                self._tell(mutant, *self._run(session, mutant, survey, known))
        return True

    def _survey(self, session: pytest.Session) -> int:
        for item, following in _pairs(session.items):
            self.surveyor.begin(item.nodeid)
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            self.surveyor.end()
        self.surveyor.stop()
        self._report.write_bytes(pickle.dumps(self.surveyor.survey))
        if session.testsfailed:
            session.config.hook.pytest_terminal_summary(
                terminalreporter=session.config.pluginmanager.get_plugin("terminalreporter"),
                exitstatus=pytest.ExitCode.TESTS_FAILED,
                config=session.config,
            )
        return min(session.testsfailed, 1)

    def _run(
        self,
        session: pytest.Session,
        mutant: Mutant,
        survey: Survey,
        functions: list[FunctionType],
    ) -> tuple[bool, str]:
        tests = _in_order(survey.of(str(mutant.path.resolve()), mutant.lines), survey)
        if not tests:
            return False, "no test runs it"
        items = {item.nodeid: item for item in session.items}

        def work() -> int:
            if not replace_functions(mutant, functions):
                raise LookupError(f"{mutant}: no function has this code")
            _bound_memory()
            for item, following in _pairs([items[test] for test in tests]):
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
                if session.testsfailed:
                    return KILLED
            return SURVIVED

        return _outcome(Process(work, self._room.limit(tests, survey), os.devnull).wait(), mutant)


def _pairs(items: list[pytest.Item]) -> Iterator[tuple[pytest.Item, pytest.Item | None]]:
    for number, item in enumerate(items, start=1):
        yield item, items[number] if number < len(items) else None
