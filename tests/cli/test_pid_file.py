"""The file that says which process runs a cluster."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

import pytest

from mooring.cli.pid_file import PidFile, beside
from mooring.errors import ConfigError


def test_a_path_beside_a_kubeconfig() -> None:
    assert beside(Path("a/config.yaml"), ".pid") == Path("a/config.yaml.pid")


def test_a_file_names_its_process_until_it_is_released(tmp_path: Path) -> None:
    kubeconfig = tmp_path / "new" / "kubeconfig"
    file = PidFile(kubeconfig)
    assert file.owner() is None
    file.take()
    assert beside(kubeconfig, ".pid").read_text() == f"{os.getpid()}\n"
    assert PidFile(kubeconfig).owner() == os.getpid()
    file.release()
    assert PidFile(kubeconfig).owner() is None
    assert not kubeconfig.parent.exists(), "it made the folder"


def test_a_folder_that_was_there_or_is_used_stays(tmp_path: Path) -> None:
    file = PidFile(tmp_path / "kubeconfig")
    file.take()
    file.release()
    assert tmp_path.exists()
    used = PidFile(tmp_path / "new" / "kubeconfig")
    used.take()
    (tmp_path / "new" / "other").touch()
    used.release()
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["other"]


def test_a_second_process_is_refused_with_the_pid_of_the_first(tmp_path: Path) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    file = PidFile(kubeconfig)
    file.take()
    with pytest.raises(ConfigError, match=rf"runs already \(process {os.getpid()}\): end it with"):
        PidFile(kubeconfig).take()
    file.release()
    again = PidFile(kubeconfig)
    again.take()
    again.release()


def test_a_file_that_a_dead_process_left_is_removed(tmp_path: Path) -> None:
    left = tmp_path / "kubeconfig.pid"
    left.write_text("99999999\n")
    assert PidFile(tmp_path / "kubeconfig").owner() is None
    assert not left.exists()


@pytest.mark.parametrize("text", ["", "words\n"])
def test_a_process_that_has_not_written_its_pid_is_unnamed(tmp_path: Path, text: str) -> None:
    path = tmp_path / "kubeconfig.pid"
    path.write_text(text)
    held = os.open(path, os.O_RDWR)
    fcntl.flock(held, fcntl.LOCK_EX)
    file = PidFile(tmp_path / "kubeconfig")
    assert file.owner() == 0
    assert not file.wait_released(-1)
    os.close(held)
    assert file.wait_released(-1)


def test_a_file_that_cannot_be_made_or_opened_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match=r"kubeconfig\.pid"):
        PidFile(tmp_path / "file" / "kubeconfig").take()
    (tmp_path / "kubeconfig.pid").mkdir()
    with pytest.raises(ConfigError, match="Is a directory"):
        PidFile(tmp_path / "kubeconfig").owner()
