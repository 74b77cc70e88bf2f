from __future__ import annotations

from collections.abc import Callable

import pytest

from mooring.apiserver.validation.file_paths import (
    check_mode,
    descending_path,
    local_path,
    no_backsteps,
    prefixed_path,
)
from tests.apiserver.validation.objects import Problems, texts

PATHS: dict[str, tuple[Callable[[str, str], Problems], str, list[str]]] = {
    "a path without backsteps": (no_backsteps, "/a/..b/c..", []),
    "a backstep": (no_backsteps, "a/../b", ["f: Invalid value: \"a/../b\": must not contain '..'"]),
    "a relative path": (descending_path, "a/b", []),
    "an absolute path": (
        descending_path,
        "/a",
        ['f: Invalid value: "/a": must be a relative path'],
    ),
    "an absolute path with a backstep": (
        descending_path,
        "/a/..",
        [
            'f: Invalid value: "/a/..": must be a relative path',
            "f: Invalid value: \"/a/..\": must not contain '..'",
        ],
    ),
    "a local path": (local_path, "a/..b", []),
    "a local path that begins with two dots": (
        local_path,
        "..a",
        ["f: Invalid value: \"..a\": must not start with '..'"],
    ),
    "a backstep is reported once": (
        local_path,
        "../a",
        ["f: Invalid value: \"../a\": must not contain '..'"],
    ),
    "a path of a domain": (prefixed_path, "acme.io/foo/bar", []),
    "an empty path of a domain": (prefixed_path, "", ["f: Required value"]),
    "a domain without a path": (
        prefixed_path,
        "acme.io/",
        [('f: Invalid value: "acme.io/": must be a domain-prefixed path (such as "acme.io/foo")')],
    ),
    "a path without a domain": (
        prefixed_path,
        "/foo",
        ['f: Invalid value: "/foo": must be a domain-prefixed path (such as "acme.io/foo")'],
    ),
    "a bad domain and a bad path": (
        prefixed_path,
        "a_b/c d",
        [
            ('f: Invalid value: "a_b": <subdomain>'),
            'f: Invalid value: "c d": Invalid path (e.g. regex used for validation is '
            "'[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')",
        ],
    ),
}


@pytest.mark.parametrize(("check", "path", "expected"), PATHS.values(), ids=PATHS)
def test_paths(check: Callable[[str, str], Problems], path: str, expected: list[str]) -> None:
    assert texts(check(path, "f")) == expected


@pytest.mark.parametrize("mode", [None, 0, 0o644, 0o777])
def test_file_modes(mode: int | None) -> None:
    assert check_mode(mode, "f") == []


@pytest.mark.parametrize("mode", [-1, 0o1000])
def test_numbers_that_are_not_file_modes(mode: int) -> None:
    assert texts(check_mode(mode, "f")) == [
        f"f: Invalid value: {mode}: must be a number between 0 and 0777 (octal), both inclusive"
    ]
