"""The documents and command lines of the tutorials, from tests/e2e/tutorials."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import yaml

FOLDER = Path(__file__).resolve().parents[1] / "e2e" / "tutorials"
#: Command lines of tutorial 002 that run its configuration files.
RUN_SIMPLEST = "kube-scheduler --config $filename"
RUN_GANGS = "kube-scheduler --config=$file"
NOTHING: Mapping[str, str] = MappingProxyType({})


def document(number: str, name: str) -> str:
    """Return a document of a tutorial as text."""
    return (FOLDER / number / name).read_text(encoding="utf-8")


def mounted_config(number: str, name: str) -> str:
    """Return the scheduler's configuration that a tutorial's manifests mount as a ConfigMap."""
    for found in yaml.safe_load_all(document(number, name)):
        if found["kind"] == "ConfigMap":
            return str(found["data"]["scheduler-config.yaml"])
    raise AssertionError(f"{number}/{name} has no ConfigMap")


def without_placeholders(text: str) -> str:
    """Return a document without the lines in which `// ...` stands for more."""
    lines = text.splitlines(keepends=True)
    return "".join(line for line in lines if not line.rstrip().endswith("// ..."))


class Tutorial:
    """One tutorial; it records which of its command lines a test has taken."""

    def __init__(self, number: str) -> None:
        self._number = number
        table = yaml.safe_load((FOLDER / "commands.yaml").read_text(encoding="utf-8"))[number]
        self._lines = [entry["command"] for entry in table if "reason" not in entry]
        self._taken: set[str] = set()

    def write(self, folder: Path, *names: str) -> None:
        """Write documents into a folder, as the reader does."""
        for name in names:
            (folder / name).write_text(document(self._number, name), encoding="utf-8")

    def command(self, line: str, put: Mapping[str, str] = NOTHING) -> str:
        """Return a command line to run, which the tutorial must have.

        `kubectl` at its start and line ends are left out; `put` replaces names of the tutorial's
        own run.
        """
        assert line in self._lines, f"tutorial {self._number} has no command line {line!r}"
        self._taken.add(line)
        for name, value in put.items():
            assert name in line
            line = line.replace(name, value)
        return " ".join(line.removeprefix("kubectl ").replace("\\\n", " ").split())

    def left(self) -> list[str]:
        """Return the command lines that no call has taken yet, without those that cannot run."""
        return [line for line in self._lines if line not in self._taken]
