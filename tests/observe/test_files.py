"""Finding and reading files."""

from __future__ import annotations

from pathlib import Path

import pytest

from mooring.observe.files import MAX_FILE, ROOT, WORKING, file_name, locate, read_file


@pytest.mark.parametrize(
    ("path", "found"),
    [
        pytest.param("/etc/a.yaml", "{root}/etc/a.yaml", id="an absolute path is in the root"),
        pytest.param("a.yaml", "a.yaml", id="a relative path stays"),
        pytest.param("/../../etc/a", "{root}/etc/a", id="no path leads out of the root"),
    ],
)
def test_paths_in_a_root(
    path: str, found: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(ROOT, str(tmp_path))
    assert str(locate(path)) == found.format(root=tmp_path)


@pytest.mark.parametrize(
    ("path", "found"),
    [
        pytest.param("a.yaml", "/etc/x/a.yaml", id="a relative path starts there"),
        pytest.param("../a.yaml", "/etc/a.yaml", id="it may lead out of it"),
        pytest.param("../../../../a.yaml", "/a.yaml", id="but not out of the root"),
        pytest.param("/a.yaml", "/a.yaml", id="an absolute path does not start there"),
        pytest.param("{root}/a.yaml", "/a.yaml", id="a path below the root is in it already"),
        pytest.param("{root}/../a.yaml", "{above}/a.yaml", id="unless it leads out again"),
    ],
)
def test_paths_in_a_working_directory(
    path: str, found: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(ROOT, str(tmp_path))
    monkeypatch.setenv(WORKING, "/etc/x")
    located = locate(path.format(root=tmp_path))
    assert str(located) == str(tmp_path) + found.format(above=tmp_path.parent)


@pytest.mark.parametrize("text", ["../a", "a/b", "..", "", "a\0b", "x" * 200])
def test_a_file_name_stays_in_its_folder(text: str, tmp_path: Path) -> None:
    name = file_name(text)
    (tmp_path / name).touch()
    assert [one.name for one in tmp_path.iterdir()] == [name]


def test_without_a_root_paths_are_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(ROOT, raising=False)
    assert locate("/etc/a.yaml") == Path("/etc/a.yaml")


def test_a_file_without_an_end_is_refused(tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.write_bytes(b"x" * 10)
    assert read_file(small, 10) == b"x" * 10
    for path, limit in ((small, 9), (Path("/dev/zero"), MAX_FILE)):
        with pytest.raises(OSError, match="File too large"):
            read_file(path, limit)
