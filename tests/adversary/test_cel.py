"""Expressions and patterns that are written to take forever, or all memory."""

from __future__ import annotations

import json
import resource
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.api import Api, ApiFailure
from tests.support.local_up import MOORING, Up
from tests.support.waiting import eventually

Object = dict[str, Any]

#: A pattern for which backtracking needs 2^n steps, n being the number of letters.
EVIL = "^(a+)+$"
LETTERS = "a" * 60 + "!"
#: Seconds. A response takes a fraction of one; the limit allows for a busy machine.
SECONDS = 120
MEMORY = 1 << 30
TEN = "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]"
COST = "CEL runtime error: operation cancelled: actual cost limit exceeded"
DEEP = "CEL compile error: compilation failed: ERROR: <input>:-1:0: "


def _doubled(first: str, step: str, result: str) -> str:
    """Return an expression with 60 variables, each of which doubles the one before."""
    binds = "".join(f"cel.bind(a{i + 1}, {step.format(i)}, " for i in range(60))
    return f"cel.bind(a0, {first}, {binds}{result}{')' * 61}"


def _nested(macro: str, inner: str, depth: int) -> str:
    return "".join(f"{TEN}.{macro}(x{i}, " for i in range(depth)) + inner + ")" * depth


def _limit_memory() -> None:
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return a scheduler's results for pods that each request a device by a hostile selector."""
    objects = [
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "status": _node_status()},
        _slice(),
        _class("true"),
        *(_claim(name, expression) for name, (expression, _) in SELECTORS.items()),
        *(_pod(name, name) for name in SELECTORS),
    ]
    manifest = tmp_path_factory.mktemp("schedule") / "objects.json"
    manifest.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    done = subprocess.run(
        [MOORING, "schedule", "-f", manifest, "-o", "json"],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=True,
        preexec_fn=_limit_memory,
    )
    return {pod["name"]: json.dumps(pod) for pod in json.loads(done.stdout)["pods"]}


def _node_status() -> Object:
    amounts = {"cpu": "4", "memory": "8Gi", "pods": "110"}
    return {"allocatable": amounts, "capacity": amounts}


def _slice() -> Object:
    spec = {
        "driver": "d.example.com",
        "nodeName": "n",
        "pool": {"name": "n", "generation": 1, "resourceSliceCount": 1},
        "devices": [{"name": name, "attributes": {"model": {"string": LETTERS}}} for name in "abc"],
    }
    return _resource("ResourceSlice", "slice", spec)


def _resource(kind: str, name: str, spec: Object) -> Object:
    version = "resource.k8s.io/v1"
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}, "spec": spec}


def _class(expression: str) -> Object:
    return _resource("DeviceClass", "class", {"selectors": [{"cel": {"expression": expression}}]})


def _claim(name: str, expression: str) -> Object:
    asked = {"deviceClassName": "class", "selectors": [{"cel": {"expression": expression}}]}
    request = {"name": "r", "exactly": asked}
    found = _resource("ResourceClaim", name, {"devices": {"requests": [request]}})
    found["metadata"]["namespace"] = "default"
    return found


def _pod(name: str, claim: str = "") -> Object:
    spec: Object = {"containers": [{"name": "c", "image": "i"}]}
    if claim:
        spec["resourceClaims"] = [{"name": "r", "resourceClaimName": claim}]
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


SELECTORS = {
    "pattern": (f'"{LETTERS}".matches("{EVIL}")', "cannot allocate"),
    "search": (f"{LETTERS!r}.find('{EVIL}') != ''", "cannot allocate"),
    "loops": (_nested("all", "true", 8), COST),
    "doubled": (_doubled("[1, 2, 3, 4]", "a{0} + a{0}", "a60.size() > 0"), COST),
    "compared": (_doubled("[1]", "[a{0}, a{0}]", "a60 == [a59, a59]"), '"node": "n"'),
    "replaced": (
        f"cel.bind(a, '{'a' * 1000}', cel.bind(b, a.replace('a', a), "
        "b.replace('a', b).size() > 0))",
        COST,
    ),
    "parentheses": ("(" * 100_000, f"{DEEP}expression recursion limit exceeded: 250"),
    "brackets": ("[" * 50_000, f"{DEEP}expression recursion limit exceeded: 250"),
    "million": (
        f"'{'a' * 1_000_000}' == ''",
        f"{DEEP}expression code point size exceeds limit: size: 1000008, limit 100000",
    ),
    "copied": ("optional.of(1)" + ".optMap(x, x)" * 200 + ".hasValue()", DEEP),
    "nested": (_nested("all", "true", 249).replace(TEN, "[1]"), '"node": "n"'),
}


@pytest.mark.parametrize("name", list(SELECTORS))
def test_the_scheduler_answers_a_hostile_selector(answers: dict[str, str], name: str) -> None:
    assert SELECTORS[name][1] in answers[name]


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    """Yield a local cluster in a separate process."""
    folder = tmp_path_factory.mktemp("up")
    running = Up(folder / "state", folder, Path("kubectl"), "--nodes=1", "--port=0")
    try:
        running.wait_ready(SECONDS)
        yield running
    finally:
        running.stop()


@pytest.fixture
def api(up: Up) -> Iterator[Api]:
    """Yield a client of the cluster, whose requests time out after 30 seconds."""
    with Api(up.access) as found:
        yield found


def _refused(api: Api, path: str, obj: Object) -> str:
    with pytest.raises(ApiFailure) as failed:
        api.request("POST", path, obj)
    assert failed.value.status == 422
    return str(failed.value)


CLASSES = "apis/resource.k8s.io/v1/deviceclasses"
CLAIMS = "apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
PODS = "api/v1/namespaces/default/pods"
DEFINITIONS = "apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def test_pods_are_bound_beside_a_hostile_claim(api: Api) -> None:
    api.request("POST", "apis/resource.k8s.io/v1/resourceslices", _slice_of(api))
    api.request("POST", CLASSES, _class("true"))
    expression = f'device.attributes["d.example.com"].model.matches("{EVIL}")'
    api.request("POST", CLAIMS, _claim("evil", expression))
    api.request("POST", PODS, _pod("asks", "evil"))

    def refused() -> bool:
        conditions = api.request("GET", f"{PODS}/asks")["status"].get("conditions") or ()
        return any("cannot allocate all claims" in one.get("message", "") for one in conditions)

    eventually(refused, "the pod is refused", SECONDS)
    api.request("POST", PODS, _pod("plain"))
    eventually(
        lambda: api.request("GET", f"{PODS}/plain")["spec"].get("nodeName"),
        "the other pod is bound",
        SECONDS,
    )


def _slice_of(api: Api) -> Object:
    found = _slice()
    node = api.request("GET", "api/v1/nodes")["items"][0]["metadata"]["name"]
    found["spec"]["nodeName"] = node
    return found


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        pytest.param(_nested("all", "true", 7), "too complex, exceeds cost limit", id="loops"),
        pytest.param("true" + " " * 20_000, "may not be more than 10240 bytes", id="length"),
        pytest.param("(" * 260, "expression recursion limit exceeded: 250", id="depth"),
    ],
)
def test_the_api_server_refuses_a_hostile_selector(api: Api, expression: str, text: str) -> None:
    assert text in _refused(api, CLASSES, _class(expression))


def _definition(plural: str, spec: Object) -> Object:
    schema = {"type": "object", "properties": {"spec": spec}}
    kind = plural.capitalize()
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Cluster",
            "names": {"plural": plural, "kind": kind},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema},
                }
            ],
        },
    }


def _custom(api: Api, plural: str, schema: Object, spec: Any) -> str:
    """Define a kind, and return why an object of it is refused."""
    api.request("POST", DEFINITIONS, _definition(plural, schema))
    path = f"apis/example.com/v1/{plural}"
    eventually(lambda: _serves(api, path), "the kind is served", SECONDS)
    obj = {"apiVersion": "example.com/v1", "kind": plural.capitalize(), "metadata": {"name": "x"}}
    return _refused(api, path, {**obj, "spec": spec})


def _serves(api: Api, path: str) -> bool:
    try:
        return bool(api.request("GET", path))
    except ApiFailure:
        return False


def test_a_pattern_of_a_schema_is_matched_in_linear_time(api: Api) -> None:
    text = _custom(api, "patterns", {"type": "string", "pattern": EVIL}, LETTERS)
    assert f"spec in body should match '{EVIL}'" in text


def test_a_rule_is_matched_in_linear_time(api: Api) -> None:
    rules = [{"rule": f"self.matches('{EVIL}')"}]
    schema = {"type": "string", "maxLength": 100, "x-kubernetes-validations": rules}
    assert "failed rule: self.matches" in _custom(api, "matches", schema, LETTERS)


def test_rules_that_cost_more_than_they_seem_are_ended(api: Api) -> None:
    # A list of 2^40 elements, built in few steps as cel-go counts them.
    binds = "".join(f"[a{i} + a{i}].all(a{i + 1}, " for i in range(40))
    rule = f"[[1]].all(a0, {binds}a40.size() > 0{')' * 41}"
    schema = {"type": "string", "x-kubernetes-validations": [{"rule": rule}]}
    assert "no further validation rules will be run" in _custom(api, "doubles", schema, "x")


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        pytest.param(
            "self.all(a, self.all(b, self.all(c, a == b || b == c)))",
            "estimated rule cost exceeds budget by factor of more than 100x",
            id="loops",
        ),
        # The response repeats the rule, and ApiFailure contains only its beginning.
        pytest.param("[" * 90_000, "is invalid", id="depth"),
        pytest.param("1" * 1_000_000, "is invalid", id="length"),
    ],
)
def test_the_api_server_refuses_a_hostile_rule(api: Api, rule: str, text: str) -> None:
    schema = {
        "type": "array",
        "items": {"type": "string"},
        "x-kubernetes-validations": [{"rule": rule}],
    }
    assert text in _refused(api, DEFINITIONS, _definition("rules", schema))
