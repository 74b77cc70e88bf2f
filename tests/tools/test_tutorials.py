"""The proof that the tutorials' documents and command lines are held as data."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.tutorials import COMMAND, DATA, DOCUMENT, UNKNOWN, main, pieces

#: The texts themselves, which are no part of this repository.
TEXTS = DATA.parents[3] / "shared" / "tutorials"

TEXT = """\
kube-scheduler \u8d1f\u8d23

```
# scheduler.yaml
kind: ConfigMap
data:
  name: one # \u8bf4\u660e
  color: "#326CE5"
```

Run `kubectl get pods`, with `--v=3`, or `kubectl` alone.

~~~yaml
...
- resources:
    - leases
~~~

  ```go
  type Plugin interface {}
  ```

```
\u279c kubectl apply -f scheduler.yaml
configmap/one created

$ kubectl create configmap two \\
  --from-file=two \\
  -n kube-system
```

```bash
$ kube-scheduler
    --port=10261
    --leader-elect=true
```

    package main

    func main() {}

    docker build -t one .

    \u6279\u51c6\uff1a\u4e00

```
I0731 09:14:44.663628       1 schedule_one.go:80] "Attempting to schedule pod"
```

docker save -o one

apiVersion: v1
kind: Pod

```
FROM ubuntu
```
"""
SCHEDULER = 'kind: ConfigMap\ndata:\n  name: one\n  color: "#326CE5"'
RULES = "...\n- resources:\n    - leases"
POD = "apiVersion: v1\nkind: Pod"
COMMANDS = [
    "kubectl get pods",
    "--v=3",
    "kubectl apply -f scheduler.yaml",
    "kubectl create configmap two \\\n  --from-file=two \\\n  -n kube-system",
    "kube-scheduler\n    --port=10261\n    --leader-elect=true",
    "docker build -t one .",
    "docker save -o one",
]


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    """Return a folder of texts, and one of data that holds all of them."""
    texts, data = tmp_path / "texts", tmp_path / "data"
    (data / "000").mkdir(parents=True)
    texts.mkdir()
    (texts / "000_a.txt").write_text(TEXT)
    (texts / "README.md").write_text("```\nnothing\n```\n")
    for name, body in (("scheduler.yaml", SCHEDULER), ("rules.yaml", RULES), ("pod.yaml", POD)):
        (data / "000" / name).write_text(f"{body}\n")
    write_commands(data, COMMANDS)
    return texts, data


def write_commands(data: Path, commands: list[str]) -> None:
    lines = [f"  - command: |-\n      {command}\n" for command in commands]
    indented = "".join(lines).replace("\\\n", "\\\n      ").replace("\n    --", "\n          --")
    (data / "commands.yaml").write_text(f'"000":\n{indented}')


def test_documents_and_command_lines_are_found() -> None:
    found = list(pieces(TEXT))
    assert [one.body for one in found if one.kind == DOCUMENT] == [SCHEDULER, RULES, POD]
    assert [one.body for one in found if one.kind == COMMAND] == COMMANDS
    assert [one for one in found if one.kind == UNKNOWN] == []


def test_a_whole_copy_passes(
    folders: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    texts, data = folders
    assert main([str(texts)], data) == 0
    assert capsys.readouterr().out == "1 texts: 3 documents, 7 command lines; all are held\n"


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        pytest.param(
            'color: "#326CE5"',
            'color: "#326CE6"',
            [
                "000: line 4: the document is not held: scheduler.yaml, line 4, is not "
                "'  color: \"#326CE6\"'",
                "000: 000/scheduler.yaml is no document of the text",
            ],
            id="document",
        ),
        pytest.param(
            "  - leases",
            "  - leases ",
            [
                "000: line 14: the document is not held: rules.yaml, line 3, is not "
                "'    - leases '",
                "000: 000/rules.yaml is no document of the text",
            ],
            id="space at the end of a line",
        ),
        pytest.param(
            "apply -f scheduler.yaml",
            "apply -f other.yaml",
            [
                "000: line 24: the command line is not held: 'kubectl apply -f other.yaml'",
                "000: commands.yaml has a command line that the text lacks: "
                "'kubectl apply -f scheduler.yaml'",
            ],
            id="command line",
        ),
        pytest.param(
            "`kubectl get pods`",
            "kubectl get pods",
            ["000: commands.yaml has a command line that the text lacks: 'kubectl get pods'"],
            id="command line that is no longer there",
        ),
        pytest.param(
            "FROM ubuntu",
            "key = value",
            ["000: line 56: the block is of no known kind: 'key = value'"],
            id="block of an unknown kind",
        ),
    ],
)
def test_a_difference_is_named(
    folders: tuple[Path, Path],
    capsys: pytest.CaptureFixture[str],
    old: str,
    new: str,
    told: list[str],
) -> None:
    texts, data = folders
    assert old in TEXT
    (texts / "000_a.txt").write_text(TEXT.replace(old, new))
    assert main([str(texts)], data) == 1
    assert capsys.readouterr().err.splitlines() == told


@pytest.mark.parametrize("name", ["scheduler.yaml", "rules.yaml", "pod.yaml"])
def test_a_missing_file_is_named(
    folders: tuple[Path, Path], capsys: pytest.CaptureFixture[str], name: str
) -> None:
    texts, data = folders
    (data / "000" / name).unlink()
    assert main([str(texts)], data) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert "the document is not held" in line


@pytest.mark.parametrize("missing", range(len(COMMANDS)))
def test_a_missing_command_line_is_named(
    folders: tuple[Path, Path], capsys: pytest.CaptureFixture[str], missing: int
) -> None:
    texts, data = folders
    write_commands(data, COMMANDS[:missing] + COMMANDS[missing + 1 :])
    assert main([str(texts)], data) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith(f"the command line is not held: {COMMANDS[missing]!r}")


def test_a_missing_text_and_a_new_one_are_named(
    folders: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    texts, data = folders
    (texts / "000_a.txt").rename(texts / "001_a.txt")
    assert main([str(texts)], data) == 1
    first, *others = capsys.readouterr().err.splitlines()
    assert first == f"000: {texts} has no such text"
    assert len(others) == 3 + len(COMMANDS)


@pytest.mark.parametrize("name", ["missing", "data"])
def test_a_folder_without_texts_is_refused(
    folders: tuple[Path, Path], capsys: pytest.CaptureFixture[str], name: str
) -> None:
    folder = folders[0].parent / name
    assert main([str(folder)], folders[1]) == 2
    assert capsys.readouterr().err == f"{folder}: has no text NNN_*.txt\n"


@pytest.mark.skipif(not TEXTS.is_dir(), reason="the texts of the tutorials are not here")
def test_the_tutorials_are_held(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(TEXTS)]) == 0, capsys.readouterr().err
