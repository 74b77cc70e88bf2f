"""The commands, and what help, version, completion and wrong usage load."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from mooring.cli.commands import COMMANDS

ROOT = Path(__file__).resolve().parents[2]
CLI = ROOT / "src" / "mooring" / "cli"
QUICKSTART = ROOT / "examples" / "quickstart"

#: Runs a command line, and prints the names of all loaded modules to standard error.
PROGRAM = """
import sys
from {module} import main
try:
    status = main(sys.argv[1:])
except SystemExit as end:
    status = end.code
print("", *sys.modules, sep="\\n", file=sys.stderr)
sys.exit(status)
"""
MAIN = "mooring.cli.main"
DROP_IN = "mooring.cli.run"

#: What is loaded without a command.
FEWEST = {"mooring", "mooring.cli", "mooring.cli.commands", "mooring.cli.main", "mooring.errors"}
FEWEST |= {"mooring.cli.messages"}
#: The readers of numbers, durations and quantities, and the tables of flags, gates and defaults.
LIGHT = {
    "mooring.api",
    "mooring.api.durations",
    "mooring.api.field_errors",
    "mooring.api.go_format",
    "mooring.api.go_numbers",
    "mooring.api.kubernetes_version",
    "mooring.api.names",
    "mooring.api.quantity",
    "mooring.api.quota_requests",
    "mooring.app",
    "mooring.app.command_line",
    "mooring.app.controllers_command",
    "mooring.app.controllers_flags",
    "mooring.app.flag_table",
    "mooring.app.flag_values",
    "mooring.app.flags",
    "mooring.app.options",
    "mooring.app.removed_flags",
    "mooring.config",
    "mooring.config.defaults",
    "mooring.extender",
    "mooring.extender.extender_defaults",
    "mooring.framework",
    "mooring.framework.feature_table",
    "mooring.framework.feature_table_1_36",
    "mooring.framework.features",
    "mooring.framework.releases",
    "mooring.journal",
    "mooring.journal.journal_limits",
    "mooring.observe",
    "mooring.observe.logs",
    "mooring.observe.output",
    "mooring.serve",
    "mooring.serve.serving_options",
}
#: Modules of flags that several commands share, and the names that flags have as defaults.
SHARED = {
    f"mooring.cli.{name}"
    for name in (
        "gate_flags",
        "journal_flags",
        "journal_rules",
        "pid_file",
        "rule_flags",
        "scheduler_flags",
    )
}
#: The commands that use the flags of another one.
USES = {"explain": ("schedule_flags",), "manifests": ("extender_flags",)}
#: Modules of others; msgspec loads typing_extensions.
OTHERS = {"msgspec", "typing_extensions"}
#: Modules of Python that take as long to load as everything else together.
SLOW = {"asyncio", "email", "importlib.metadata", "ssl", "unittest"}


def loaded_by(*argv: str, module: str = MAIN, status: int = 0) -> set[str]:
    """Run a command line in another process; return the modules that it loads."""
    program = PROGRAM.format(module=module)
    done = subprocess.run(
        [sys.executable, "-c", program, *argv], capture_output=True, text=True, check=False
    )
    assert done.returncode == status, done.stderr
    return set(done.stderr.rpartition("\n\n")[2].split())


def others(loaded: set[str]) -> set[str]:
    """Return the packages that belong neither to Mooring nor to Python, except what site loads."""
    at_start = subprocess.run(
        [sys.executable, "-c", "import sys; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    tops = {name.partition(".")[0] for name in loaded - set(at_start.stdout.split())}
    return tops - sys.stdlib_module_names - {"mooring"}


def check(loaded: set[str], allowed: set[str]) -> None:
    ours = {name for name in loaded if name.partition(".")[0] == "mooring"}
    assert sorted(ours - allowed) == []
    assert sorted(others(loaded) - OTHERS) == []
    assert sorted(loaded & SLOW) == []


@pytest.mark.parametrize(
    ("argv", "status"),
    [(["--version"], 0), (["--help"], 0), ([], 0), (["--wrong"], 2), (["wrong"], 2)],
    ids=lambda value: " ".join(value) or "nothing" if isinstance(value, list) else "",
)
def test_without_a_command_none_is_loaded(argv: list[str], status: int) -> None:
    loaded = loaded_by(*argv, status=status)
    check(loaded, FEWEST)
    assert "msgspec" not in loaded


@pytest.mark.parametrize("name", COMMANDS)
def test_help_of_a_command_loads_its_flags_alone(name: str) -> None:
    own = {f"mooring.cli.{module}" for module in (COMMANDS[name].module, *USES.get(name, ()))}
    check(loaded_by(name, "--help"), FEWEST | LIGHT | SHARED | own)


@pytest.mark.parametrize(
    ("argv", "status"),
    [
        (["schedule", "--wrong"], 2),
        (["schedule", "-f", "x", "-o", "wrong"], 2),
        (["up", "--port=wrong"], 2),
        (["shadow", "--journal-max-bytes=wrong"], 2),
        (["config", "validate"], 2),
        (["run", "--wrong"], 1),
        (["controllers", "--wrong"], 1),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_usage_loads_the_flags_alone(argv: list[str], status: int) -> None:
    own = {f"mooring.cli.{COMMANDS[argv[0]].module}"}
    check(loaded_by(*argv, status=status), FEWEST | LIGHT | SHARED | own)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_loads_the_flags_of_every_command(shell: str) -> None:
    modules = {f"mooring.cli.{command.module}" for command in COMMANDS.values()}
    loaded = loaded_by("completion", shell)
    check(loaded, FEWEST | LIGHT | SHARED | modules)
    assert modules <= loaded


@pytest.mark.parametrize(
    ("flag", "status"), [("--help", 0), ("--version", 0), ("--version=raw", 0), ("--wrong", 1)]
)
def test_drop_in_command_loads_its_flags_alone(flag: str, status: int) -> None:
    loaded = loaded_by(flag, module=DROP_IN, status=status)
    check(loaded, FEWEST | LIGHT | {"mooring.cli.run"})


#: The rooms of other commands, and what serves the local cluster.
NOT_SCHEDULED = {"aiohttp", "mooring.apiserver", "mooring.kubelet", "mooring.local", "mooring.ui"}
NOT_SCHEDULED |= {"mooring.controllers", "mooring.replay", "mooring.shadow", "mooring.extender"}
#: What talks to a cluster.
CLIENTS = {"cryptography", "httptools", "mooring.leader", "mooring.serve"}
CLIENTS |= {"mooring.client.client", "mooring.client.http_pool"}


@pytest.mark.parametrize(
    ("argv", "status", "unused"),
    [
        (["schedule", "-f", str(QUICKSTART)], 0, NOT_SCHEDULED | CLIENTS | {"mooring.journal"}),
        (["explain", "web", "--kubeconfig=/absent"], 1, NOT_SCHEDULED | {"mooring.journal"}),
        (["run", "--kubeconfig=/absent"], 1, NOT_SCHEDULED),
    ],
    ids=lambda value: " ".join(value[:1]) if isinstance(value, list) else "",
)
def test_a_command_loads_nothing_of_the_others(
    argv: list[str], status: int, unused: set[str]
) -> None:
    assert sorted(loaded_by(*argv, status=status) & unused) == []


def test_every_module_with_a_parser_is_a_command() -> None:
    modules = {
        path.stem
        for path in CLI.glob("*.py")
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.FunctionDef) and node.name == "add_parser"
    }
    assert modules == {command.module for command in COMMANDS.values()}
