"""Each module of the package has a test file of its name, and each test file a subject."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "mooring"
TESTS = ROOT / "tests"

#: Modules that declare things and do nothing: there is no function to call.
DECLARATIONS = {
    "api/events.py": "Structs of the wire; test_kinds.py decodes and encodes them",
    "api/resource.py": "Structs of the wire; test_kinds.py decodes and encodes them",
    "api/scheduling.py": "Structs of the wire; test_kinds.py decodes and encodes them",
    "api/storage.py": "Structs of the wire; test_kinds.py decodes and encodes them",
    "api/volumes.py": "Structs of the wire; test_kinds.py decodes and encodes them",
    "api/workloads.py": "Structs of the wire; test_kinds.py decodes and encodes them",
    "app/flag_table.py": "the table of flags; test_flags.py and tests/reference read it",
    "config/convert/policy_names.py": "tables; test_policy.py converts each name",
    "config/convert/removed.py": "tables; the tests of each version refuse what is in them",
    "config/convert/schema_table.py": "a generated table; tests/tools compares it with the source",
    "config/convert/family_table.py": "a generated table; test_family.py compares it with plugins",
    "extender/extender_defaults.py": "constants; cli/test_extender_flags.py reads them",
    "journal/entries.py": "Structs; journal/test_journal.py writes and reads them",
    "typing.py": "aliases of array types",
}

#: Protocols: what they declare is tested where it is implemented.
PROTOCOLS = {
    "framework/extender.py": "extenders/http_extender.py implements it",
    "framework/handle.py": "cycle/profile_handle.py implements it",
    "framework/listers.py": "informers/store.py implements it",
    "framework/placements.py": "scheduler/pod_group_placing.py implements it",
    "serve/explanations.py": "serve/loop_explanations.py and the readers implement it",
}

#: Tests of a room as a whole, or of several of its modules at once.
ROOM_TESTS = {
    "apiserver/defaults/test_defaults.py",
    "apiserver/test_fuzz.py",
    "apiserver/test_fuzz_requests.py",
    "apiserver/test_real_server.py",
    "app/test_plugin_errors.py",
    "binding/test_real_server.py",
    "cel/test_recorded.py",
    "client/test_both_transports.py",
    "client/test_real_server.py",
    "config/convert/test_golden.py",
    "config/convert/test_meaning.py",
    "config/convert/test_tutorials.py",
    "config/test_long_lists.py",
    "config/test_reference.py",
    "contrib/capacity_scheduling/test_live.py",
    "contrib/coscheduling/test_live.py",
    "contrib/test_plugins.py",
    "contrib/test_real_server.py",
    "controllers/test_kubectl.py",
    "cycle/test_external_exceptions.py",
    "explain/test_diagnoses.py",
    "informers/test_real_server.py",
    "local/test_load.py",
    "local/test_long_lists.py",
    "local/test_memory.py",
    "observe/test_absent_metrics.py",
    "plugins/test_built_ins.py",
    "plugins/test_events.py",
    "queue/test_external_exceptions.py",
}


def modules() -> list[str]:
    """Return the modules of the package, as paths below it."""
    paths = (path.relative_to(PACKAGE) for path in sorted(PACKAGE.rglob("*.py")))
    return [path.as_posix() for path in paths if not path.stem.startswith("__")]


def mirror_of(module: str) -> str:
    """Return the test file that a module must have, as a path below tests/."""
    path = Path(module)
    return (path.parent / f"test_{path.stem.lstrip('_')}.py").as_posix()


def has_test(module: str) -> bool:
    return (TESTS / mirror_of(module)).is_file()


def subjects(test_file: Path) -> set[str]:
    """Return the test files that a test file may be named after: `pool_turns` is about `pool`."""
    words = test_file.stem.split("_")
    return {
        (test_file.parent / f"{'_'.join(words[:count])}.py").as_posix()
        for count in range(2, len(words) + 1)
    }


def room_files() -> list[Path]:
    """Return the test files of the rooms, as paths below tests/."""
    rooms = {Path(module).parts[0] for module in modules()}
    paths = (path.relative_to(TESTS) for path in sorted(TESTS.rglob("test_*.py")))
    return [path for path in paths if len(path.parts) > 1 and path.parts[0] in rooms]


def functions(tree: ast.AST) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return [node for node in ast.walk(tree) if isinstance(node, kinds)]


def does_nothing(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Return whether a function has no body but a docstring and `...`."""
    return all(
        isinstance(step, ast.Expr) and isinstance(step.value, ast.Constant)
        for step in function.body
    )


@pytest.mark.parametrize("module", modules())
def test_a_module_has_a_mirror_of_its_name(module: str) -> None:
    if module in {**DECLARATIONS, **PROTOCOLS}:
        assert not has_test(module), "remove it from the list"
    else:
        assert has_test(module), f"there is no tests/{mirror_of(module)}"


@pytest.mark.parametrize("module", DECLARATIONS)
def test_a_declaration_has_no_function(module: str) -> None:
    assert functions(ast.parse((PACKAGE / module).read_text())) == []


@pytest.mark.parametrize("module", PROTOCOLS)
def test_a_protocol_has_no_body(module: str) -> None:
    tree = ast.parse((PACKAGE / module).read_text())
    assert [function.name for function in functions(tree) if not does_nothing(function)] == []


def test_a_test_file_is_named_after_a_module_or_listed() -> None:
    named = {mirror_of(module) for module in modules()}
    without = {path.as_posix() for path in room_files() if not subjects(path) & named}
    assert without - ROOM_TESTS == set(), "name it after a module, or add it to ROOM_TESTS"
    assert ROOM_TESTS - without == set(), "remove from ROOM_TESTS what is gone or has a subject"
