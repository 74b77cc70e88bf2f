from __future__ import annotations

import platform

import pytest

from mooring.serve.zpages import (
    PageForm,
    first_parts,
    flagz_data,
    flagz_text,
    negotiate,
    statusz_data,
    statusz_text,
)

PATHS = ["/metrics/resources", "/metrics", "/healthz/ping", "/healthz"]


def test_flags_for_people() -> None:
    assert flagz_text({"v": "2", "config": ""}).splitlines() == [
        "",
        "kube-scheduler flagz",
        "Warning: This endpoint is not meant to be machine parseable, has no formatting "
        "compatibility guarantees and is for debugging purposes only.",
        "config ",
        "v 2",
    ]


def test_flags_for_programs() -> None:
    assert flagz_data({"v": "2"}, "v1beta1") == {
        "kind": "Flagz",
        "apiVersion": "config.k8s.io/v1beta1",
        "metadata": {"name": "kube-scheduler"},
        "flags": {"v": "2"},
    }


def test_status_for_people() -> None:
    assert statusz_text(0.0, 3661.5, "1.37.1", "1.36", PATHS).splitlines()[4:] == [
        "Started: Thu Jan  1 00:00:00 UTC 1970",
        "Up: 1 hr 01 min 01 sec",
        f"Python version: {platform.python_version()}",
        "Binary version: 1.37.1",
        "Emulation version: 1.36",
        "Paths: /healthz /metrics",
    ]


def test_status_for_programs() -> None:
    data = statusz_data(0.0, 61.0, "1.37.1", "1.36", PATHS, "v1beta1")
    assert data["apiVersion"] == "config.k8s.io/v1beta1"
    assert data["startTime"] == "1970-01-01T00:00:00Z"
    assert data["uptimeSeconds"] == 61
    assert data["paths"] == first_parts(PATHS)


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        ("", PageForm("text/plain")),
        ("*/*", PageForm("text/plain")),
        ("text/plain", PageForm("text/plain")),
        ("application/json", None),
        ("text/html", None),
        ("application/json, text/*;q=0.5", PageForm("text/plain")),
        (
            "application/json;v=v1beta1;g=config.k8s.io;as=Flagz",
            PageForm("application/json", "v1beta1"),
        ),
        (
            "application/yaml;v=v1beta1;g=config.k8s.io;as=Flagz",
            PageForm("application/yaml", "v1beta1"),
        ),
        (
            "text/html, application/json; as=Flagz; g=config.k8s.io; v=v1alpha1",
            PageForm("application/json", "v1alpha1"),
        ),
        (
            "text/plain;q=0.1, application/json;as=Flagz;g=config.k8s.io;v=v1beta1;q=0.9",
            PageForm("application/json", "v1beta1"),
        ),
        ("application/json;v=v2;g=config.k8s.io;as=Flagz", None),
        ("application/json;v=v1beta1;g=config.k8s.io;as=Statusz", None),
    ],
)
def test_objects_are_for_those_who_name_kind_and_version(
    accept: str, expected: PageForm | None
) -> None:
    assert negotiate(accept, "Flagz") == expected
