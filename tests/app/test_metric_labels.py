"""Allow lists from the command line and from a file."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from mooring.app.metric_labels import allow_lists
from mooring.app.options import MetricOptions

FLAT = '"m,l": "a,b"\n'
NESTED = 'allowListMapping:\n  "m,l": "a,b"\n'


@pytest.mark.parametrize("text", [FLAT, NESTED], ids=["as it is read", "as the help shows it"])
def test_a_manifest_is_read(tmp_path: Path, text: str) -> None:
    file = tmp_path / "lists.yaml"
    file.write_text(text, encoding="utf-8")
    found = allow_lists(MetricOptions(allowed_labels_manifest=str(file)))
    assert found == {"m": {"l": frozenset("ab")}}


def test_the_flag_goes_before_the_manifest(tmp_path: Path) -> None:
    file = tmp_path / "lists.yaml"
    file.write_text(FLAT, encoding="utf-8")
    options = MetricOptions(allowed_labels={"n,k": "c"}, allowed_labels_manifest=str(file))
    assert allow_lists(options) == {"n": {"k": frozenset("c")}}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "Failed to read allow list manifest"),
        ("{", "Failed to parse allow list manifest"),
        ("- m", "Failed to parse allow list manifest"),
        ('"m,l": 5', "Failed to parse allow list manifest"),
        ('"m": "a"', "Failed to parse allow list manifest"),
    ],
    ids=["no file", "no YAML", "no map", "no text", "no label"],
)
def test_a_manifest_that_cannot_be_used_is_logged_and_left_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, text: str | None, message: str
) -> None:
    file = tmp_path / "lists.yaml"
    if text is not None:
        file.write_text(text, encoding="utf-8")
    with caplog.at_level(logging.ERROR):
        assert allow_lists(MetricOptions(allowed_labels_manifest=str(file))) == {}
    assert message in caplog.text
