"""Prove that tests/e2e/tutorials holds every document and command line of the tutorials' texts.

Usage: python -m tools.tutorials FOLDER

FOLDER holds the texts, NNN_*.txt. The blocks of code in them are found and classified: documents
(configurations and manifests) and command lines must be in tests/e2e/tutorials, character by
character; Go code, logs, output and sentences must not, so comments of documents are left out.
Each difference is one line that names the text and the line of the block; then the status is 1.

NNN/ holds the documents of a text, a file each; commands.yaml the command lines of all texts.
"""

from __future__ import annotations

import argparse
import difflib
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import yaml

DATA = Path(__file__).resolve().parents[1] / "tests" / "e2e" / "tutorials"
COMMANDS = "commands.yaml"

DOCUMENT, COMMAND, UNKNOWN = "document", "command line", "unknown"
#: The language of a block that is indented and not fenced; sentences may be, too.
INDENTED = "indented"

_TEXT = re.compile(r"(\d{3})_.*\.txt")
_FENCE = re.compile(r"^( *)(```|~~~)(\w*)\s*$")
_SPAN = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_COMMENT = re.compile(r"^\s*#.*\n?|[ \t]+#.*$", re.MULTILINE)
#: `$ `, `➜ ` or root's `# ` before a command; a comment of a shell is not told from a prompt.
_PROMPT = re.compile(r"^(?:[$➜] |# (?=make$))")
_PROGRAMS = (
    "kubectl|kube-scheduler|bin/sample-scheduler|docker|minikube|ctr|scp|git|go (?:build|mod)|make|"
    r"\./bin/run\.sh"
)
#: A program with arguments; the first of them is no word of a sentence.
_LINE = re.compile(rf"^(?:{_PROGRAMS})(?: +[-\x21-\x7e][^\uff0c\u3002]*)?$")
_SPAN_LINE = re.compile(rf"^(?:(?:{_PROGRAMS}) +|--)[\x21-\x7e]")
_FIELD_OF_OBJECT = re.compile(r'^\s*"?(?:apiVersion|kind)"? ?:', re.MULTILINE)
#: What is in a block that is neither a document nor commands -> the lines that show it.
_OTHERS = {
    "Go": r"^\s*(?:package|func|type|import|app\.\w+\() ?|^module |^require \(",
    "an image": r"^FROM ",
    "a log": r"^[IWEF]\d{4} \d\d:",
    "an error": r": reading [\w./-]+|: invalid version:",
}
#: The punctuation of Chinese sentences.
_SENTENCE = re.compile(r"[\u3001\u3002\uff08\uff0c\uff1a\uff1b]")


class Block(NamedTuple):
    """A piece of code in a text: its first line, the language it declares, and its content."""

    line: int
    language: str
    body: str


class Piece(NamedTuple):
    """A document or a command line of a text, or a block that nothing else matches."""

    line: int
    kind: str
    body: str


def blocks(text: str) -> Iterator[Block]:
    """Yield the fenced, the indented and the bare blocks of a text, and its spans of code."""
    lines = text.splitlines()
    number = 0
    while number < len(lines):
        start, line = number, lines[number]
        fence = _FENCE.match(line)
        if fence is not None:
            indent, mark, language = fence.groups()
            number += 1
            while number < len(lines) and lines[number].strip() != mark:
                number += 1
            inside = [one.removeprefix(indent) for one in lines[start + 1 : number]]
            yield Block(start + 2, language, _trimmed(inside))
            number += 1
        elif line.startswith("    ") and line.strip() and not lines[start - 1].strip():
            while number < len(lines) and (lines[number].startswith("    ") or not lines[number]):
                number += 1
            inside = [one.removeprefix("    ") for one in lines[start:number]]
            yield Block(start + 1, INDENTED, _trimmed(inside))
        elif line.startswith("apiVersion:"):
            while number < len(lines) and lines[number].strip():
                number += 1
            yield Block(start + 1, "yaml", _trimmed(lines[start:number]))
        else:
            if _LINE.match(line):
                yield Block(start + 1, "bash", line)
            for span in _SPAN.findall(line):
                if _SPAN_LINE.match(span):
                    yield Block(start + 1, "bash", span.strip())
            number += 1


def pieces(text: str) -> Iterator[Piece]:
    """Yield the documents and command lines of a text, and blocks of an unknown kind."""
    for block in blocks(text):
        body = block.body
        fields = block.language in ("", INDENTED) and _FIELD_OF_OBJECT.search(body)
        if fields or block.language in ("yaml", "json"):
            yield Piece(block.line, DOCUMENT, _trimmed(_COMMENT.sub("", body).split("\n")))
            continue
        if block.language != "go" and (found := list(_commands(block))):
            yield from found
            continue
        others = [shown for shown in _OTHERS.values() if re.search(shown, body, re.MULTILINE)]
        prose = block.language == INDENTED and _SENTENCE.search(body)
        if block.language != "go" and not others and not prose:
            yield Piece(block.line, UNKNOWN, body)


def _commands(block: Block) -> Iterator[Piece]:
    """Yield the command lines of a block, without their prompts; other lines are output."""
    lines = block.body.split("\n")
    number = 0
    while number < len(lines):
        start = number
        prompt = _PROMPT.match(lines[start])
        number += 1
        if prompt is None and not _LINE.match(lines[start]) and block.language != "bash":
            continue
        while number < len(lines) and (
            lines[number - 1].endswith("\\") or re.match(r" +-", lines[number])
        ):
            number += 1
        command = "\n".join(lines[start:number])
        yield Piece(block.line + start, COMMAND, command[prompt.end() if prompt else 0 :])


def _trimmed(lines: list[str]) -> str:
    """Return lines as text, without the blank ones at both ends."""
    return re.sub(r"\A(?:[ \t]*\n)+|(?:\n[ \t]*)+\Z", "", "\n".join(lines))


class Data(NamedTuple):
    """What the repository holds of one text: file name -> document, and the command lines."""

    documents: dict[str, str]
    commands: list[str]


def read_data(folder: Path) -> dict[str, Data]:
    """Return the data of each text, by its number."""
    table = yaml.safe_load((folder / COMMANDS).read_text(encoding="utf-8"))
    return {
        number: Data(
            {
                path.name: path.read_text(encoding="utf-8").removesuffix("\n")
                for path in sorted((folder / number).iterdir())
            },
            [entry["command"] for entry in table.get(number) or []],
        )
        for number in sorted({path.name for path in folder.iterdir() if path.is_dir()} | set(table))
    }


def differences(number: str, text: str, data: Data) -> Iterator[str]:
    """Yield a line for each piece of a text that the data lacks, and for what the data has more."""
    held = {DOCUMENT: set(data.documents.values()), COMMAND: set(data.commands)}
    seen: dict[str, set[str]] = {DOCUMENT: set(), COMMAND: set()}
    for piece in pieces(text):
        where = f"{number}: line {piece.line}"
        if piece.kind == UNKNOWN:
            yield f"{where}: the block is of no known kind: {_first(piece.body)}"
            continue
        seen[piece.kind].add(piece.body)
        if piece.body not in held[piece.kind]:
            yield f"{where}: the {piece.kind} is not held: {_compared(piece, data)}"
    for name, body in data.documents.items():
        if body not in seen[DOCUMENT]:
            yield f"{number}: {number}/{name} is no document of the text"
    for command in data.commands:
        if command not in seen[COMMAND]:
            yield f"{number}: {COMMANDS} has a command line that the text lacks: {command!r}"


def _compared(piece: Piece, data: Data) -> str:
    """Return the first line of a piece that differs from the document that is most like it."""
    near = difflib.get_close_matches(piece.body, data.documents.values(), n=1)
    if piece.kind != DOCUMENT or not near:
        return repr(piece.body) if piece.kind == COMMAND else _first(piece.body)
    name = next(name for name, body in data.documents.items() if body == near[0])
    held = near[0].split("\n")
    for index, line in enumerate(piece.body.split("\n")):
        if index >= len(held) or held[index] != line:
            return f"{name}, line {index + 1}, is not {line!r}"
    return f"{name} has more lines"


def _first(body: str) -> str:
    return repr(body.partition("\n")[0])


def main(arguments: list[str], data: Path = DATA) -> int:
    """Compare the texts of a folder with the data; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tools.tutorials", description=__doc__)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args(arguments).folder
    texts = {
        found.group(1): path
        for path in (sorted(folder.iterdir()) if folder.is_dir() else [])
        if (found := _TEXT.fullmatch(path.name))
    }
    if not texts:
        print(f"{folder}: has no text NNN_*.txt", file=sys.stderr)
        return 2
    held = read_data(data)
    problems = [f"{number}: {folder} has no such text" for number in held if number not in texts]
    counts = {DOCUMENT: 0, COMMAND: 0}
    for number, path in texts.items():
        text = path.read_text(encoding="utf-8")
        problems += differences(number, text, held.get(number, Data({}, [])))
        for piece in pieces(text):
            if piece.kind in counts:
                counts[piece.kind] += 1
    for problem in problems:
        print(problem, file=sys.stderr)
    if not problems:
        found = ", ".join(f"{count} {kind}s" for kind, count in counts.items())
        print(f"{len(texts)} texts: {found}; all are held")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
