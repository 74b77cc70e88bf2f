"""Completion: what a shell offers after a part of a command."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from mooring.cli.completion import words_of
from mooring.cli.main import main, make_parser


@pytest.fixture
def script(capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["completion", "bash"]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("mooring sch", {"schedule"}),
        ("mooring up --no-s", {"--no-scheduler"}),
        ("mooring config ", {"validate", "convert", "-h", "--help"}),
        ("mooring config validate --plu", {"--plugin"}),
        ("mooring run --leader-elect-res", None),
        ("mooring schedule -o ", {"table", "json", "yaml"}),
        ("mooring completion ", {"bash", "zsh", "fish", "-h", "--help"}),
        ("mooring up -f Makef", {"Makefile"}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_bash_offers_what_can_follow(script: str, line: str, offered: set[str] | None) -> None:
    words = " ".join(f"'{word}'" for word in line.split(" "))
    last = len(line.split(" ")) - 1
    program = f"{script}\nCOMP_WORDS=({words}) COMP_CWORD={last}\n_mooring\n"
    program += 'printf "%s\\n" "${COMPREPLY[@]}"'
    done = subprocess.run(["bash", "-c", program], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    found = set(done.stdout.split())
    if offered is None:
        offered = {f"--leader-elect-resource-{part}" for part in ("lock", "name", "namespace")}
    assert found == offered


@pytest.mark.parametrize(
    ("shell", "lines"),
    [
        (
            "zsh",
            [
                "#compdef mooring",
                '    " schedule:-o") candidates="table json yaml" ;;',
                "compdef _mooring mooring",
            ],
        ),
        (
            "fish",
            [
                "complete -c mooring -n __fish_use_subcommand -a version -d "
                "'print the versions of Mooring, Kubernetes and Python'",
                "complete -c mooring -n '__fish_seen_subcommand_from version' -s o -xa 'text json'",
            ],
        ),
    ],
)
def test_other_shells_get_the_same_words(
    shell: str, lines: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["completion", shell]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line not in printed] == []


def printed_by(shell: str, program: str) -> list[str]:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    done = subprocess.run(
        [shell, "-c", program], capture_output=True, text=True, check=True, cwd="/"
    )
    assert done.stderr == ""
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["mooring", "sch"], "schedule"),
        (["mooring", "config", ""], "validate convert -h --help"),
        (["mooring", "schedule", "-o", ""], "table json yaml"),
    ],
    ids=" ".join,
)
def test_zsh_offers_what_can_follow(
    words: list[str], offered: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["completion", "zsh"]) == 0
    script = capsys.readouterr().out
    typed = " ".join(f"'{word}'" for word in words)
    program = (
        "compdef() { }; compadd() { shift; print -r -- $*; }\n"
        f"{script}\nwords=({typed}) CURRENT={len(words)}\n_mooring\nwhich ls > /dev/null"
    )
    (found,) = printed_by("zsh", program)
    # zsh itself leaves out what does not begin with the typed text.
    assert " ".join(word for word in found.split() if word.startswith(words[-1])) == offered


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("mooring sch", {"schedule"}),
        ("mooring up --no-s", {"--no-scheduler"}),
        ("mooring schedule -o ", {"table", "json", "yaml"}),
        ("mooring completion ", {"bash", "zsh", "fish"}),
    ],
)
def test_fish_offers_what_can_follow(
    line: str, offered: set[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["completion", "fish"]) == 0
    script = tmp_path / "mooring.fish"
    script.write_text(capsys.readouterr().out)
    lines = printed_by("fish", f"source {script}; complete -C '{line}'")
    assert {one.split("\t")[0] for one in lines} >= offered


def test_every_command_has_its_words() -> None:
    found = {one.path: one for one in words_of(make_parser())}
    assert set(found[()].subcommands) == {path[0] for path in found if path}
    assert found[("config",)].subcommands.keys() == {"validate", "convert"}
    assert "--leader-elect" in found[("run",)].flags
    assert all(found[()].subcommands.values()), "every command says what it does"
