"""Which recordings are replayed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance.recordings import HERE, chosen


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder that says who recorded it."""
    text = "# Vectors\n\nRecorded from kube-scheduler v1.36.4. Every file ...\n"
    (tmp_path / "README.md").write_text(text)
    return tmp_path


def test_every_recording_is_replayed_with_its_release() -> None:
    assert chosen({}) == {"1.36": HERE / "1.36.4", "1.37": HERE / "1.37.1"}


@pytest.mark.parametrize("release", ["1.36.4", "v1.36.4", "1.36"])
def test_a_release_chooses_its_recording(release: str) -> None:
    assert chosen({"MOORING_RELEASE": release}) == {"1.36": HERE / "1.36.4"}


def test_a_folder_says_which_release_recorded_it(folder: Path) -> None:
    assert chosen({"MOORING_VECTORS": str(folder)}) == {"1.36": folder}


def test_another_release_may_be_tried_with_a_folder(folder: Path) -> None:
    environment = {"MOORING_VECTORS": str(folder), "MOORING_RELEASE": "1.37.1"}
    assert chosen(environment) == {"1.37": folder}


def test_a_folder_that_says_nothing_needs_a_release(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="set MOORING_RELEASE"):
        chosen({"MOORING_VECTORS": str(tmp_path)})


def test_a_release_without_a_recording_is_refused() -> None:
    with pytest.raises(ValueError, match=r"there is no recording of it"):
        chosen({"MOORING_RELEASE": "1.20.0"})
