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
    "framework/queued.py": "the fields of a queued pod that a plugin sees",
    "typing.py": "aliases of array types",
}

#: Protocols: what they declare is tested where it is implemented.
PROTOCOLS = {
    "framework/extender.py": "extenders/http_extender.py implements it",
    "framework/handle.py": "cycle/profile_handle.py implements it",
    "framework/listers.py": "informers/store.py implements it",
}

#: Tests of a room as a whole, or of several of its modules at once.
ROOM_TESTS = {
    "apiserver/defaults/test_defaults.py",
    "apiserver/subresources/test_parts.py",
    "apiserver/test_fuzz.py",
    "apiserver/test_fuzz_requests.py",
    "apiserver/test_real_server.py",
    "apiserver/validation/test_validation.py",
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
    "controllers/test_kubectl.py",
    "cycle/test_external_exceptions.py",
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
    if module in {**DECLARATIONS, **PROTOCOLS} or module in UNTESTED:
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


#: Modules that have no test file yet.
UNTESTED = {
    "apiserver/auth/access_reviews.py",
    "apiserver/auth/authentication.py",
    "apiserver/auth/authorization.py",
    "apiserver/auth/escalation.py",
    "apiserver/auth/tokens.py",
    "apiserver/bodies.py",
    "apiserver/bootstrap.py",
    "apiserver/custom_resource_definitions.py",
    "apiserver/defaults/apps.py",
    "apiserver/defaults/by_group.py",
    "apiserver/defaults/core.py",
    "apiserver/defaults/pods.py",
    "apiserver/go_text.py",
    "apiserver/http.py",
    "apiserver/kubeconfig_writer.py",
    "apiserver/limits.py",
    "apiserver/list_options.py",
    "apiserver/metrics_api.py",
    "apiserver/new_pods.py",
    "apiserver/object_status.py",
    "apiserver/openapi_documents.py",
    "apiserver/patch/typed.py",
    "apiserver/printing/clusterwide.py",
    "apiserver/printing/core.py",
    "apiserver/printing/custom_columns.py",
    "apiserver/printing/pods.py",
    "apiserver/printing/rendering.py",
    "apiserver/printing/workloads.py",
    "apiserver/quota.py",
    "apiserver/refusals.py",
    "apiserver/request_paths.py",
    "apiserver/resource_table.py",
    "apiserver/schema/openapi_v2.py",
    "apiserver/server_state.py",
    "apiserver/service_addresses.py",
    "apiserver/strategies.py",
    "apiserver/subresources/account_tokens.py",
    "apiserver/subresources/binding.py",
    "apiserver/subresources/eviction.py",
    "apiserver/subresources/pod_logs.py",
    "apiserver/subresources/scaling.py",
    "apiserver/validation/autoscaler_metrics.py",
    "apiserver/validation/autoscalers.py",
    "apiserver/validation/checks_by_kind.py",
    "apiserver/validation/containers.py",
    "apiserver/validation/core.py",
    "apiserver/validation/definition_parts.py",
    "apiserver/validation/device_claims.py",
    "apiserver/validation/devices.py",
    "apiserver/validation/disks.py",
    "apiserver/validation/events.py",
    "apiserver/validation/field_problems.py",
    "apiserver/validation/file_paths.py",
    "apiserver/validation/formats.py",
    "apiserver/validation/job_policies.py",
    "apiserver/validation/jobs.py",
    "apiserver/validation/metadata.py",
    "apiserver/validation/networking.py",
    "apiserver/validation/nodes.py",
    "apiserver/validation/persistent_volumes.py",
    "apiserver/validation/pod_parts.py",
    "apiserver/validation/pod_resources.py",
    "apiserver/validation/pods.py",
    "apiserver/validation/policies.py",
    "apiserver/validation/quotas.py",
    "apiserver/validation/resource_amounts.py",
    "apiserver/validation/rule_names.py",
    "apiserver/validation/rule_programs.py",
    "apiserver/validation/rule_types.py",
    "apiserver/validation/schedules.py",
    "apiserver/validation/scheduling.py",
    "apiserver/validation/security.py",
    "apiserver/validation/services.py",
    "apiserver/validation/signing_requests.py",
    "apiserver/validation/statuses.py",
    "apiserver/validation/storage.py",
    "apiserver/validation/variables.py",
    "apiserver/validation/volume_claims.py",
    "apiserver/validation/volumes.py",
    "apiserver/validation/windows.py",
    "apiserver/validation/workloads.py",
    "apiserver/version_conversion.py",
    "apiserver/write.py",
    "controllers/component_events.py",
    "controllers/controlled_kinds.py",
    "controllers/controlled_pods.py",
    "controllers/controller.py",
    "controllers/controllers.py",
    "controllers/daemon_pods.py",
    "controllers/dependency_graph.py",
    "controllers/deployment_status.py",
    "controllers/expectations.py",
    "controllers/job_pods.py",
    "controllers/job_status.py",
    "controllers/owners.py",
    "controllers/pod_collector.py",
    "controllers/provisioning.py",
    "controllers/replica_set.py",
    "controllers/rest_mapper.py",
    "controllers/revisions.py",
    "controllers/stateful_pods.py",
    "controllers/status_conditions.py",
    "controllers/taint_eviction.py",
    "controllers/template_hash.py",
    "controllers/times.py",
    "controllers/volume_protection.py",
    "controllers/writer.py",
    "kubelet/node_reporter.py",
    "kubelet/node_status.py",
    "kubelet/observed_status.py",
    "kubelet/pod_fields.py",
    "kubelet/pod_runner.py",
    "kubelet/pod_status.py",
    "kubelet/real_pod.py",
    "local/copying.py",
    "local/local_scheduler.py",
    "local/workers.py",
}
