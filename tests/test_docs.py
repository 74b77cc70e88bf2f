"""What the documentation shows is what happens.

Each page is followed from top to bottom in a folder of its own, which holds a copy of examples/:

- a block with a title (```yaml title="cluster.yaml") is written to the file of that name;
- ```python blocks run, in order, in one namespace;
- ```console blocks run line by line: `$ ` begins a command, `> ` continues it, and what follows is
  its output. A line of `...` stands for any lines, `...` inside a line for any text. Where no
  output is shown, none is compared. A command must succeed, unless the block says
  ```console exits=1;
- ```console kubectl blocks need kubectl and a cluster: tests/test_readme.py runs them.

Blocks in other languages (```text, ```sh, ```go) are not run.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import msgspec
import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "examples").glob("**/README.md")),
]

FENCE = re.compile(r"^```(\w+)([^\n`]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TITLE = re.compile(r'title="([^"]+)"')
EXITS = re.compile(r"exits=(\d+)")
LINK = re.compile(r"\]\((?!\w+:)([^)#]*)(#[^)]*)?\)")


class Block(msgspec.Struct, frozen=True):
    """Hold one fenced block of a page."""

    line: int
    language: str
    info: str
    text: str


class Command(msgspec.Struct, frozen=True):
    """Hold one command of a console block and the output shown below it."""

    text: str
    shown: list[str]


def blocks(markdown: str) -> Iterator[Block]:
    """Yield the fenced blocks of a page in order."""
    for match in FENCE.finditer(markdown):
        yield Block(markdown.count("\n", 0, match.start()) + 1, *match.groups())


def commands(text: str) -> list[Command]:
    """Split a console block into commands."""
    found: list[Command] = []
    for line in text.splitlines():
        if line.startswith("$ "):
            found.append(Command(line[2:], []))
        elif line.startswith("> ") and found and not found[-1].shown:
            found[-1] = Command(f"{found[-1].text}\n{line[2:]}", [])
        elif found:
            found[-1].shown.append(line.rstrip())
        else:
            raise ValueError(f"output before the first command: {line!r}")
    return found


def agrees(shown: list[str], output: list[str]) -> bool:
    """Tell whether the output is what the page shows."""
    pattern = "".join(
        r"(?:.*\n)*" if line == "..." else re.escape(line).replace(r"\.\.\.", ".*") + r"\n"
        for line in shown
    )
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in output)) is not None


def run(command: str, folder: Path) -> tuple[int, list[str]]:
    """Run one command as a reader would, with the environment's commands first in the path."""
    settings = {name: value for name, value in os.environ.items() if "PYTEST" not in name}
    settings["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    settings |= {"HOME": str(folder), "COLUMNS": "100", "TERM": "dumb", "NO_COLOR": "1"}
    ended = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=settings,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
    )
    return ended.returncode, [line.rstrip() for line in ended.stdout.splitlines()]


def follow(markdown: str, folder: Path, module: ModuleType) -> list[str]:
    """Follow a page in a folder; return where it and what happened part ways."""
    problems = []
    for block in blocks(markdown):
        if title := TITLE.search(block.info):
            path = folder / title.group(1)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text)
        if block.language == "python":
            exec(compile("\n" * block.line + block.text, module.__name__, "exec"), module.__dict__)
        if block.language == "console" and "kubectl" not in block.info:
            expected = int(exits.group(1)) if (exits := EXITS.search(block.info)) else 0
            for command in commands(block.text):
                status, output = run(command.text, folder)
                if status != expected or (command.shown and not agrees(command.shown, output)):
                    happened = "\n".join(output)
                    problems.append(f"line {block.line}: {command.text}: exit {status}\n{happened}")
    return problems


def page_id(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_a_page_shows_what_happens(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if (ROOT / "examples").is_dir():
        shutil.copytree(ROOT / "examples", tmp_path / "examples")
    module = ModuleType(page_id(page))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    assert follow(page.read_text(), tmp_path, module) == []


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_links_lead_somewhere(page: Path) -> None:
    targets = [match.group(1) for match in LINK.finditer(page.read_text())]
    assert [target for target in targets if not (page.parent / target).exists()] == []


def anchors(markdown: str) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", FENCE.sub("", markdown), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_links_lead_to_sections_that_exist(page: Path) -> None:
    missing = []
    for match in LINK.finditer(page.read_text()):
        target = page.parent / match.group(1) if match.group(1) else page
        if match.group(2) and target.suffix == ".md":
            known = anchors(target.read_text())
            missing += [match.group(0)] if match.group(2)[1:] not in known else []
    assert missing == []


@pytest.mark.parametrize(
    ("markdown", "problems"),
    [
        pytest.param("```console\n$ echo a; echo b\na\nb\n```", 0, id="output as shown"),
        pytest.param("```console\n$ echo a; echo b\na\n```", 1, id="output beyond what is shown"),
        pytest.param("```console\n$ seq 9\n1\n...\n9\n```", 0, id="lines left out"),
        pytest.param("```console\n$ echo took 3.5s\ntook ...s\n```", 0, id="text left out"),
        pytest.param("```console\n$ echo a\n```", 0, id="no output shown, none compared"),
        pytest.param("```console\n$ echo \\\n> a\na\n```", 0, id="a command on two lines"),
        pytest.param("```console\n$ exit 1\n```", 1, id="a command that fails"),
        pytest.param("```console exits=1\n$ exit 1\n```", 0, id="a command shown to fail"),
        pytest.param("```console exits=1\n$ true\n```", 1, id="a command that should fail"),
        pytest.param('```yaml title="a"\nb\n```\n\n```console\n$ cat a\nb\n```', 0, id="a file"),
        pytest.param("```python\na = 1\n```\n```python\nassert a == 1\n```", 0, id="python"),
        pytest.param("```text\n$ exit 1\n```", 0, id="text is not run"),
    ],
)
def test_pages_are_followed(markdown: str, problems: int, tmp_path: Path) -> None:
    assert len(follow(markdown, tmp_path, ModuleType("page"))) == problems
