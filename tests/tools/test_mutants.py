"""Mutants of a small package: which are drawn, which tests notice, and that no file changes."""

from __future__ import annotations

import ast
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from tools.mutants import drawing

ROOT = Path(__file__).resolve().parents[2]


def changes(tmp_path: Path, source: str) -> set[str]:
    """Return the mutants of a source text, as "before → after"."""
    path = tmp_path / "thing.py"
    path.write_text(source)
    found = list(drawing.mutants(path))
    for mutant in found:
        assert ast.unparse(mutant.tree()) != ast.unparse(ast.parse(source))
        compile(mutant.tree(), "thing.py", "exec")
    return {f"{mutant.before} → {mutant.after}" for mutant in found}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a < b", {"a < b → a >= b", "a < b → a <= b"}),
        ("a is None", {"a is None → a is not None"}),
        ("a in b", {"a in b → a not in b"}),
        ("a + b", {"a + b → a - b"}),
        ("a & b", {"a & b → a | b"}),
        ("a and b", {"a and b → a or b"}),
        ("not a", {"not a → a"}),
        ("~a", {"~a → a"}),
        ("x = 3", {"3 → 4", "3 → 2"}),
        ("x = 0", {"0 → 1"}),
        ("x = -1", {"-1 → 1", "-1 → 0"}),
        ("x = 0o600", {"384 → 385", "384 → 383", "384 → 420"}),
        ("x = True", {"True → False"}),
        ("f(a)", {"f(a) → pass"}),
        ("async def f():\n    await g()", {"await g() → pass"}),
        ("a.b = c", {"a.b = c → pass"}),
        ("a[b] = c", {"a[b] = c → pass"}),
        ("a.b: int = c", {"a.b: int = c → pass"}),
        ("a.b += c", {"a.b += c → a.b -= c", "a.b += c → pass"}),
        ("del a[b]", {"del a[b] → pass"}),
        ("def f():\n    return a", {"return a → return None"}),
        ("def f() -> bool:\n    return a", {"return a → return not a"}),
        ("def f():\n    return", {"return → pass"}),
        ("for a in b:\n    break", {"break → continue"}),
        ("for a in b:\n    continue", {"continue → break", "continue → pass"}),
        ("def f(a=1):\n    pass", {"1 → 2", "1 → 0"}),
    ],
)
def test_what_is_changed(tmp_path: Path, source: str, expected: set[str]) -> None:
    assert changes(tmp_path, source) == expected


@pytest.mark.parametrize(
    "source",
    [
        '"""A text."""',
        "x = 'text'",
        "x: Literal[1] | None",
        "def f(a: list[1]) -> Literal[2]:\n    pass",
        "@cache(3)\ndef f():\n    pass",
        "class A(Struct, frozen=True):\n    pass",
        "class A:\n    __slots__ = (1,)",
        "class A:\n    def __repr__(self):\n        return 1 + 1",
        "class A:\n    def validate(self):\n        check(1)",
        "assert a == b",
        "if TYPE_CHECKING:\n    f(1)",
        "log.info('text', extra=kv(a=1))",
        "vlog(log, 5, 'text', a=b + 1)",
        "if verbose(log, 5):\n    vlog(log, 5, 'text')",
        "if verbose(log, 5) and a < b:\n    vlog(log, 5, 'text')",
        "zip(a, b, strict=True)",
        "def f():\n    return []",
        "def f():\n    return {}",
        "a = None",
    ],
)
def test_what_is_not_changed(tmp_path: Path, source: str) -> None:
    assert {change for change in changes(tmp_path, source) if "zip(" not in change} == set()


def test_a_seed_draws_the_same_mutants_wherever_they_have_moved(tmp_path: Path) -> None:
    path = tmp_path / "thing.py"
    lines = [f"def f{number}():\n    return g({number}) < h({number})" for number in range(50)]
    path.write_text("\n".join(lines))

    def texts(seed: int) -> set[str]:
        drawn = drawing.draw([path], seed, 30)
        assert len(drawn) == 30
        return {f"{mutant.scope} {mutant.before} {mutant.after}" for mutant in drawn}

    first = texts(1)
    assert texts(1) == first
    assert texts(2) != first
    path.write_text("import os\n\n\n" + "\n".join(reversed(lines)))
    assert texts(1) == first


SOURCE = '''"""Something to change."""

LIMIT = 3


def is_full(count: int) -> bool:
    return count >= LIMIT


def forever(items: list[int]) -> int:
    while items:
        items.pop()
    return len(items)


def unused() -> int:
    return 7 * 6


class Box:
    def __init__(self, size: int = 2) -> None:
        self.size = size

    def grow(self) -> None:
        self.size += 1


class Crate(Box):
    def __init__(self) -> None:
        super().__init__()
'''

TESTS = """
from sample.room.thing import Box, Crate, forever, is_full


def test_a_limit():
    assert is_full(4) and not is_full(2)


def test_it_ends():
    assert forever([1, 2]) == 0


def test_a_box():
    box = Box()
    box.grow()
    assert box.size == 3


def test_a_crate():
    assert Crate().size == 2
"""


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    """Return the folder of a package with one room and tests that leave something unnoticed."""
    room, tests = tmp_path / "src" / "sample" / "room", tmp_path / "tests" / "room"
    for folder in (room, tests):
        folder.mkdir(parents=True)
    (tmp_path / "src" / "sample" / "__init__.py").touch()
    (room / "__init__.py").touch()
    (room / "thing.py").write_text(SOURCE)
    (tests / "test_thing.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text(
        "[pytest]\npythonpath = src\naddopts = --import-mode=importlib\n"
    )
    return tmp_path


COMMAND = [sys.executable, "-m", "tools.mutants", "--package", "src/sample", "--rooms", "room"]


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def without_lines(output: Iterable[str]) -> set[str]:
    return {re.sub(r"^.*?:\d+: ", "", line) for line in output}


def test_survivors_are_printed_and_no_file_is_written(sample: Path) -> None:
    before = contents(sample)
    done = subprocess.run(
        [*COMMAND, "--count", "1000", "--patience", "5"],
        cwd=sample,
        env=environment(),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr + done.stdout
    *survivors, score = done.stdout.splitlines()
    # Only the limit itself, and what no test calls, goes unnoticed.
    assert without_lines(survivors) == {
        "count >= LIMIT → count > LIMIT",
        "3 → 4",
        "return 7 * 6 → return None (no test runs it)",
        "7 * 6 → 7 // 6 (no test runs it)",
        "7 → 8 (no test runs it)",
        "7 → 6 (no test runs it)",
        "6 → 7 (no test runs it)",
        "6 → 5 (no test runs it)",
    }
    assert all(line.startswith("src/sample/room/thing.py:") for line in survivors)
    assert re.match(r"until room: killed 13 of 21, 61\.9 %", score)
    assert contents(sample) == before


def test_tests_that_fail_without_a_mutant_are_told(sample: Path) -> None:
    (sample / "tests" / "room" / "test_thing.py").write_text("def test_it():\n    assert 1 == 2\n")
    done = subprocess.run(
        [*COMMAND, "--count", "1"], cwd=sample, env=environment(), capture_output=True, text=True
    )
    assert done.returncode == 1
    assert "room: cannot run the tests" in done.stderr
    assert "assert 1 == 2" in done.stderr


def test_it_ends_with_all_that_it_started(sample: Path) -> None:
    """A test that hangs keeps nothing alive once the command is ended."""
    pids = sample / "pids"
    os.mkfifo(pids)
    (sample / "tests" / "room" / "test_thing.py").write_text(
        "import os, time\n"
        "def test_it():\n"
        f"    with open({str(pids)!r}, 'w') as file:\n"
        "        file.write(str(os.getpid()))\n"
        "    time.sleep(600)\n"
    )
    command = subprocess.Popen([*COMMAND, "--count", "1"], cwd=sample, env=environment())
    try:
        pid = int(pids.read_text())
        command.send_signal(signal.SIGTERM)
        assert command.wait(60) == 143
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
    finally:
        command.kill()
        command.wait()
