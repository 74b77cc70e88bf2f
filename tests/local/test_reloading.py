"""Reloading: when it happens, and what is printed if a file does not load."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from mooring.errors import PluginError
from mooring.local.reloading import Reloader, describe
from mooring.registry import Registry, load_plugin, loaded_files

GOOD = """from mooring import Plugin


class Mine(Plugin):
    def filter(self, state, pod, node):
        return None
"""


class Reloads:
    """A reloader that records the contents of its file at each load."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.loaded: list[str] = []
        self.said: list[str] = []
        self.reloader = Reloader(
            lambda: loaded_files([f"{file}:Mine"]), self._load, self.said.append
        )

    async def _load(self) -> None:
        load_plugin(f"{self.file}:Mine")
        self.loaded.append(self.file.read_text())


@pytest.fixture
def reloads(tmp_path: Path) -> Reloads:
    file = tmp_path / "mine.py"
    file.write_text(GOOD)
    return Reloads(file)


async def test_a_file_that_rests_is_left_alone(reloads: Reloads) -> None:
    await reloads.reloader.look()
    await reloads.reloader.look()
    assert not reloads.loaded and not reloads.said


async def test_a_file_that_has_changed_is_loaded_once_it_rests(reloads: Reloads) -> None:
    reloads.file.write_text(GOOD + "# 1")
    await reloads.reloader.look()
    reloads.file.write_text(GOOD + "# 12")
    await reloads.reloader.look()
    assert not reloads.loaded
    await reloads.reloader.look()
    await reloads.reloader.look()
    assert reloads.loaded == [GOOD + "# 12"]
    assert reloads.said == [f"{reloads.file}: reloaded"]


async def test_a_file_that_does_not_load_is_named_once_and_tried_again_when_it_changes(
    reloads: Reloads,
) -> None:
    reloads.file.write_text(GOOD + "def")
    for _ in range(4):
        await reloads.reloader.look()
    assert reloads.said == [f"{reloads.file}:7:4: invalid syntax; the old one stays in use"]
    reloads.file.write_text(GOOD + "# well")
    for _ in range(2):
        await reloads.reloader.look()
    assert reloads.said[1:] == [f"{reloads.file}: reloaded"]


async def test_the_files_that_a_plugin_imports_are_watched(
    reloads: Reloads, tmp_path: Path
) -> None:
    """A change that imports a broken file is repaired in that file."""
    extra = tmp_path / "extra_rules.py"
    extra.write_text("def")
    reloads.file.write_text("import extra_rules\n" + GOOD)
    for _ in range(4):
        await reloads.reloader.look()
    assert reloads.said == [f"{extra}:1:4: invalid syntax; the old one stays in use"]
    for text in ("RULE = 1\n", "RULE = 12\n"):
        extra.write_text(text)
        for _ in range(4):
            await reloads.reloader.look()
    assert reloads.said[1:] == [f"{extra}: reloaded"] * 2


async def test_a_file_that_wants_to_end_the_process_does_not(reloads: Reloads) -> None:
    reloads.file.write_text("raise SystemExit(3)\n")
    for _ in range(2):
        await reloads.reloader.look()
    assert reloads.said == [f"{reloads.file}:1: SystemExit: 3; the old one stays in use"]


async def test_a_file_that_goes_away_and_comes_back_is_loaded(reloads: Reloads) -> None:
    reloads.file.unlink()
    for _ in range(2):
        await reloads.reloader.look()
    assert "no such file" in reloads.said[0]
    reloads.file.write_text(GOOD)
    for _ in range(2):
        await reloads.reloader.look()
    assert reloads.loaded == [GOOD]


def test_a_change_within_the_same_second_counts(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    names = []
    for name in ("one", "two"):
        file.write_text(GOOD + f'    name = "{name}"\n')
        os.utime(file, (1_000_000_000, 1_000_000_000))
        names.append(load_plugin(f"{file}:Mine").name)
    assert names == ["one", "two"]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda text: text + "x = 1 / 0\n", "{file}:7: ZeroDivisionError: division by zero"),
        (lambda text: text.replace("Mine", "Yours"), "has no Mine; its plugins: Yours"),
        (lambda text: text.replace("filter", "filer"), "{file}:4: plugin Mine"),
    ],
    ids=["a module that raises", "a class that is gone", "a class that breaks the contract"],
)
def test_an_error_is_said_with_its_place(
    tmp_path: Path, change: Callable[[str], str], expected: str
) -> None:
    file = tmp_path / "mine.py"
    file.write_text(change(GOOD))
    with pytest.raises(PluginError) as raised:
        Registry([load_plugin(f"{file}:Mine")])
    line = describe(raised.value, [file])
    assert expected.format(file=file) in line
    assert "\n" not in line
