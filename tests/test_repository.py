"""What the repository holds, and what it must not."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCES = sorted((ROOT / "src").rglob("*.py"))
NOT_OURS = {"__pycache__", "build", "dist"}

# Written so that this file does not find itself.
PLACES = re.compile(
    r"pypi[.]org|pythonhosted[.]org|npmjs[.]org|(?:proxy|sum)[.]golang[.]org|index[-]url"
    r"|(?<![\w.])/(?:work|root)[/]"
)


def text_files(folder: Path) -> Iterator[tuple[Path, str]]:
    """Yield every text file below a folder; hidden folders are tools' own, except .ci."""
    for path in sorted(folder.iterdir()):
        if path.name in NOT_OURS or (path.name.startswith(".") and path.name != ".ci"):
            continue
        if path.is_dir():
            yield from text_files(path)
        else:
            try:
                yield path, path.read_text(encoding="utf-8")
            except UnicodeDecodeError:
                continue


def test_no_file_names_a_registry_or_a_path_of_one_machine() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path, text in text_files(ROOT)
        for number, line in enumerate(text.splitlines(), start=1)
        if PLACES.search(line)
    ]
    assert found == []


def test_every_pin_of_the_lock_has_a_hash_and_no_place_to_come_from() -> None:
    lock = (ROOT / "requirements.lock").read_text()
    assert "://" not in lock
    assert not re.search(r"^\s*-(?!-hash=sha256:[0-9a-f]{64}\b)", lock, re.MULTILINE)
    pins = re.findall(r"^([a-z0-9-]+)==[^\n]*(\n +--hash=)?", lock, re.MULTILINE)
    assert len(pins) > 40
    assert [name for name, hashed in pins if not hashed] == []


def test_paths_in_the_notice_exist() -> None:
    paths = re.findall(r"\b(?:src|tools|tests)/[\w/.-]*\w", (ROOT / "NOTICE").read_text())
    assert len(paths) > 3
    assert [path for path in paths if not (ROOT / path).exists()] == []


#: Rooms that are gone, and what replaced them has other names; a target of make keeps its own.
GONE = re.compile(r"(?<!bench-)\b(?:insight|offline)\b", re.IGNORECASE)


def test_rooms_that_are_gone_are_named_nowhere() -> None:
    # The changelog names their replacements, and this file names the rooms to find them.
    spared = {ROOT / "CHANGELOG.md", Path(__file__)}
    copies = (ROOT / "tests" / "behaviour", ROOT / "tests" / "groups", ROOT / "tests" / "kubectl")
    assert [
        str(path.relative_to(ROOT))
        for path, text in text_files(ROOT)
        if GONE.search(text) and path not in spared and not any(c in path.parents for c in copies)
    ] == []


def test_values_are_structs() -> None:
    """Check that the package has one way to declare a value: msgspec.Struct."""
    wanted = re.compile(
        r"^\s*(?:import dataclasses|from dataclasses import|@dataclass)", re.MULTILINE
    )
    assert [
        str(path.relative_to(ROOT)) for path in SOURCES if wanted.search(path.read_text())
    ] == []


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_file_is_read_in_one_sitting(path: Path) -> None:
    text = path.read_text()
    assert len(text.splitlines()) <= 600, "split it by noun"
    assert not re.search(r"\b(TODO|FIXME)\b", text), "finish it, or leave it out"


#: Tests that read private attributes, and why they must.
EXCEPTIONS = {
    "client/fakes.py": "handles of asyncio, which a loop of its own runs",
    "support/virtual_loop.py": "handles of asyncio, which a loop of its own runs",
    "app/test_signals.py": "os._exit ends a fork without the clean-up of pytest",
    "soak/test_soak.py": "bugs are planted: methods of the package are replaced by wrong ones",
}


def private_names(text: str) -> set[str]:
    """Return the private names that a test reads of other objects, or imports."""
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Attribute) and re.match("_[^_]", node.attr):
            if not (isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")):
                found.add(node.attr)
        elif isinstance(node, ast.ImportFrom):
            found |= {one.name for one in node.names if re.match("_[^_]", one.name)}
    return found


def test_tests_read_no_private_attribute() -> None:
    tests = ROOT / "tests"
    copies = (tests / "behaviour", tests / "groups", tests / "kubectl")
    found = {
        path.relative_to(tests).as_posix(): names
        for path in sorted(tests.rglob("*.py"))
        if not any(copy in path.parents for copy in copies)
        if (names := private_names(path.read_text()))
    }
    listed = EXCEPTIONS.keys()
    assert {path: names for path, names in found.items() if path not in listed} == {}
    assert listed - found.keys() == set(), "remove from the lists what reads none"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        pytest.param("a.b._c", {"_c"}, id="a private attribute"),
        pytest.param("a._b.c = 1", {"_b"}, id="one that is written through"),
        pytest.param("from a import _b, c", {"_b"}, id="a private name that is imported"),
        pytest.param("self._a + cls._b", set(), id="the test's own"),
        pytest.param("a.__class__.__name__, _b", set(), id="names that Python gives"),
    ],
)
def test_private_names_are_found(text: str, names: set[str]) -> None:
    assert private_names(text) == names
