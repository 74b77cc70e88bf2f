"""--write-config-to: the same v1 document, or the same fields refused."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from mooring.app.command import Command
from mooring.app.command_line import run_command
from tests.reference import configurations
from tests.reference.sides import Side
from tests.support import kubeconfigs

CASES: list[dict[str, Any]] = yaml.load(
    (Path(__file__).resolve().parents[1] / "config" / "reference.yaml").read_text(encoding="utf-8"),
    yaml.CSafeLoader,
)
SEEDS = range(60)
#: A field that is refused: `path: Invalid value: ...`.
REFUSED = re.compile(
    r"([a-zA-Z][\w.\[\]]*): (?:Invalid value|Required value|Duplicate value|Unsupported value"
    r"|Forbidden|Too many|Not found)"
)
#: An unknown field, as the reference and as Mooring report it.
THEIR_UNKNOWN = re.compile(r'unknown field \\"([^"\\]+)\\"')
OUR_UNKNOWN = re.compile(r"([a-zA-Z][\w.\[\]]*): unknown field ")
#: A kubeconfig that a case names, and that the reference reads.
NAMED_KUBECONFIG = "/etc/kubernetes/scheduler.conf"
# Both need the address of a server, but send no requests; the reference would open its port.
APART = ("--master=http://127.0.0.1:1", "--secure-port=0")


def flags(file: Path, target: Path, gates: str = "") -> list[str]:
    return [
        f"--config={file}",
        f"--write-config-to={target}",
        *APART,
        *([f"--feature-gates={gates}"] if gates else []),
    ]


def in_this_process(argv: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    def run(command: Command) -> int:
        raise AssertionError("a configuration is written, no scheduler run")

    status = run_command(argv, run, program="mooring-kube-scheduler")
    return status, capsys.readouterr().err


def fields(text: str, unknown: re.Pattern[str]) -> set[str]:
    """Return the fields that an error names."""
    return {path.lower() for path in REFUSED.findall(text) + unknown.findall(text)}


def compare(
    reference: Side, text: str, folder: Path, capsys: pytest.CaptureFixture[str], gates: str = ""
) -> None:
    file, theirs, ours = folder / "config.yaml", folder / "theirs.yaml", folder / "ours.yaml"
    file.write_text(text, encoding="utf-8")
    answer = reference.run(*flags(file, theirs, gates))
    status, said = in_this_process(flags(file, ours, gates), capsys)
    if answer.returncode == 0:
        assert status == 0, said
        assert ours.read_text(encoding="utf-8") == theirs.read_text(encoding="utf-8")
        return
    assert status == 1, answer.stderr
    assert not ours.exists()
    # Errors found when plugins are made have paths that start at their args, or no path.
    named, refused = fields(said, OUR_UNKNOWN), fields(answer.stderr, THEIR_UNKNOWN)
    for field in refused:
        assert any(f".{one}".endswith(f".{field}") for one in named), (answer.stderr, said)
    if refused:
        assert len(named) == len(refused), (answer.stderr, said)


@pytest.mark.parametrize("case", [pytest.param(case, id=case["name"]) for case in CASES])
def test_a_file_is_read_alike(
    sides: tuple[Side, Side],
    case: dict[str, Any],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    kubeconfig = kubeconfigs.write(tmp_path / "kubeconfig", {"server": "http://127.0.0.1:1"}, {})
    text = case["config"].replace(NAMED_KUBECONFIG, str(kubeconfig))
    compare(sides[0], text, tmp_path, capsys, case["gates"])


@pytest.mark.parametrize("seed", SEEDS)
def test_a_generated_file_is_read_alike(
    sides: tuple[Side, Side], seed: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    compare(sides[0], yaml.safe_dump(configurations.make(seed)), tmp_path, capsys)


def test_the_program_writes_what_the_reference_writes(
    sides: tuple[Side, Side], tmp_path: Path
) -> None:
    written = []
    for side in sides:
        target = tmp_path / f"{side.name}.yaml"
        answer = side.run(f"--write-config-to={target}", *APART)
        assert answer.returncode == 0, answer.stderr
        written.append(target.read_text(encoding="utf-8"))
    assert written[1] == written[0]
