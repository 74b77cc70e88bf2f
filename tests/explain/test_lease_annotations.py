"""Where the holder of a Lease answers."""

from __future__ import annotations

import pytest

from mooring.api import ObjectMeta
from mooring.api.events import Lease, LeaseSpec
from mooring.explain.lease_annotations import (
    CERTIFICATE,
    HOLDER,
    PORT,
    ExplainAddress,
    annotated,
    read_address,
    read_fingerprint,
)

SHA = "0f" * 32
ADDRESS = ExplainAddress("web-1_uuid", 10259, SHA)


def lease(holder: str | None, annotations: dict[str, str]) -> Lease:
    return Lease(
        metadata=ObjectMeta(annotations=annotations), spec=LeaseSpec(holder_identity=holder)
    )


def test_what_is_written_is_read_and_others_annotations_are_kept() -> None:
    written = annotated({"a": "b", PORT: "1"}, ADDRESS)
    assert written == {"a": "b", HOLDER: "web-1_uuid", PORT: "10259", CERTIFICATE: SHA}
    assert read_address(lease("web-1_uuid", written)) == ADDRESS
    assert annotated(written, None) == {"a": "b"}


@pytest.mark.parametrize(
    ("holder", "changed"),
    [
        pytest.param("other_uuid", {}, id="another process holds the lease"),
        pytest.param(None, {}, id="nobody holds it"),
        pytest.param("web-1_uuid", {PORT: "0"}, id="no port"),
        pytest.param("web-1_uuid", {PORT: "65536"}, id="a port that is too high"),
        pytest.param("web-1_uuid", {PORT: "x"}, id="a port that is no number"),
        pytest.param("web-1_uuid", {CERTIFICATE: "abc"}, id="no fingerprint"),
    ],
)
def test_annotations_that_say_nothing(holder: str | None, changed: dict[str, str]) -> None:
    assert read_address(lease(holder, {**annotated({}, ADDRESS), **changed})) is None


def test_the_name_of_the_host() -> None:
    assert ADDRESS.host == "web-1"
    assert ExplainAddress("alone", 1, SHA).host == "alone"


def test_fingerprints_as_tools_print_them() -> None:
    assert read_fingerprint(":".join(["0F"] * 32)) == SHA
    assert read_fingerprint(SHA + "0") == ""
