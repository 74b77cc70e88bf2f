"""Complete patch requests."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.apiserver.patch.patching import (
    IGNORE,
    JSON_PATCH,
    MERGE_PATCH,
    STRATEGIC_PATCH,
    STRICT,
    WARN,
    patch_object,
)
from mooring.apiserver.refusals import Refusal
from mooring.apiserver.schema.canonical import canonical
from mooring.apiserver.schema.structural import decode_custom
from mooring.controlplane.type_table import types
from tests.apiserver.schema.test_custom_schema import KIND

DEPLOYMENT = types().get("apps.v1.Deployment")
LIVE = canonical(DEPLOYMENT, {"metadata": {"name": "d"}, "spec": {"replicas": 1}})


def patched(data: str, media: str, directive: str = WARN) -> tuple[dict[str, Any], list[str]]:
    return patch_object(DEPLOYMENT, LIVE, data.encode(), media, directive)


@pytest.mark.parametrize(
    ("data", "media"),
    [
        ('{"spec":{"replicas":2}}', STRATEGIC_PATCH),
        ('{"spec":{"replicas":2}}', MERGE_PATCH),
        ('[{"op":"replace","path":"/spec/replicas","value":2}]', JSON_PATCH),
    ],
)
def test_every_kind_of_patch_applies(data: str, media: str) -> None:
    obj, warnings = patched(data, media)
    assert obj["spec"]["replicas"] == 2
    assert warnings == []


@pytest.mark.parametrize(("directive", "count"), [(WARN, 1), (IGNORE, 0)])
def test_unknown_fields_warn_or_pass(directive: str, count: int) -> None:
    obj, warnings = patched('{"spec":{"colour":1}}', MERGE_PATCH, directive)
    assert warnings == ['unknown field "spec.colour"'][:count]
    assert "colour" not in obj["spec"]


@pytest.mark.parametrize(
    ("data", "media", "text"),
    [
        (
            '{"spec":{"colour":1}}',
            STRATEGIC_PATCH,
            ' "" is invalid: patch: Invalid value: "map[spec:map[colour:1]]": strict decoding '
            'error: unknown field "spec.colour"',
        ),
        (
            '{"spec":{"paused":true,"paused":false}}',
            STRATEGIC_PATCH,
            ' "" is invalid: patch: Invalid value: "map[spec:map[paused:false]]": strict decoding '
            'error: duplicate field "spec.paused"',
        ),
        (
            '{"spec":{"replicas":"many"}}',
            STRATEGIC_PATCH,
            ' "" is invalid: patch: Invalid value: "map[spec:map[replicas:many]]": unrecognized '
            "type: int32",
        ),
    ],
)
def test_what_does_not_fit_is_refused(data: str, media: str, text: str) -> None:
    with pytest.raises(Refusal) as raised:
        patched(data, media, STRICT)
    assert raised.value.code == 422
    assert str(raised.value) == text


def test_a_merge_patch_shows_the_whole_object() -> None:
    with pytest.raises(Refusal, match="json: cannot unmarshal string into Go struct field"):
        patched('{"spec":{"replicas":"many"}}', MERGE_PATCH)


def test_custom_resources_bring_a_decoder_of_their_own() -> None:
    live = {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "x"}}
    obj, warnings = patch_object(
        None,
        live,
        b'{"spec":{"size":1,"hue":2}}',
        MERGE_PATCH,
        decoder=lambda value: decode_custom(KIND, value),
    )
    assert obj["spec"] == {"size": 1, "queue": "normal"}
    assert warnings == ['unknown field "spec.hue"']
