"""The records of running clusters: where they are, who may read them, which are stale."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from mooring.cli import cluster_state
from mooring.cli.cluster_state import ClusterRecord, find_cluster, running_clusters
from mooring.cli.pid_file import PidFile
from mooring.errors import ConfigError


def record(kubeconfig: Path, started: float = 1.0) -> ClusterRecord:
    return ClusterRecord(
        kubeconfig=str(kubeconfig),
        pid=1,
        address="https://127.0.0.1:1",
        version="0",
        kubernetes="v1",
        started=started,
    )


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Use an own folder, and begin in one without a cluster."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "state" / "mooring"


@pytest.fixture
def clusters(tmp_path: Path) -> Iterator[list[Path]]:
    """Hold the locks of two clusters, as their processes do, and record them."""
    held = []
    paths = [tmp_path / name / "kubeconfig" for name in ("new", "old")]
    for place, path in enumerate(paths):
        file = PidFile(path)
        file.take()
        held.append(file)
        cluster_state.save(record(path, started=2.0 - place))
    yield paths
    for file in held:
        file.release()


def test_only_the_user_may_read_them(state: Path, clusters: list[Path]) -> None:
    assert state.stat().st_mode & 0o777 == 0o700
    state.chmod(0o755)
    cluster_state.save(record(clusters[0]))
    assert state.stat().st_mode & 0o777 == 0o700


def test_those_that_run_are_listed_and_others_forgotten(
    state: Path, clusters: list[Path], tmp_path: Path
) -> None:
    cluster_state.save(record(tmp_path / "gone" / "kubeconfig"))
    (state / "damaged.json").write_text("{")
    assert [one.kubeconfig for one in running_clusters()] == [str(clusters[1]), str(clusters[0])]
    assert len(list(state.iterdir())) == 3
    cluster_state.forget(str(clusters[0]))
    assert [one.kubeconfig for one in running_clusters()] == [str(clusters[1])]


def test_the_cluster_of_this_folder_or_the_only_one_is_meant(
    clusters: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert find_cluster(clusters[0], "status").kubeconfig == str(clusters[0])
    with pytest.raises(ConfigError) as refused:
        find_cluster(None, "status")
    assert str(refused.value) == (
        "no local cluster runs with the kubeconfig .mooring/kubeconfig; for those that run:\n"
        f"  mooring status --kubeconfig {clusters[1]}\n"
        f"  mooring status --kubeconfig {clusters[0]}"
    )
    cluster_state.forget(str(clusters[0]))
    assert find_cluster(None, "status").kubeconfig == str(clusters[1])
    with pytest.raises(ConfigError, match="no local cluster runs with the kubeconfig other"):
        find_cluster(Path("other"), "status")


def test_the_cluster_of_the_environment_is_meant(
    clusters: list[Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    held = PidFile(Path(".mooring/kubeconfig"))
    held.take()
    cluster_state.save(record(tmp_path / "here" / ".mooring" / "kubeconfig"))
    for elsewhere in (True, False):
        monkeypatch.setenv("KUBECONFIG", f"/real/config:{clusters[1]}")
        found = find_cluster(None, "down", elsewhere=elsewhere)
        assert found.kubeconfig == str(clusters[1])
        assert find_cluster(clusters[0], "down").kubeconfig == str(clusters[0])
        # A cluster that it does not name is not meant, even that of the current folder.
        monkeypatch.setenv("KUBECONFIG", "/real/config")
        with pytest.raises(ConfigError, match=r"kubeconfig /real/config of \$KUBECONFIG; for"):
            find_cluster(None, "down", elsewhere=elsewhere)
        monkeypatch.setenv("KUBECONFIG", "")
        found = find_cluster(None, "down", elsewhere=elsewhere)
        assert found.kubeconfig.endswith("here/.mooring/kubeconfig")
    held.release()


def test_a_command_may_want_only_the_cluster_of_this_folder(clusters: list[Path]) -> None:
    cluster_state.forget(str(clusters[0]))
    with pytest.raises(ConfigError, match=f"\n  mooring down --kubeconfig {clusters[1]}$"):
        find_cluster(None, "down", elsewhere=False)


def test_a_folder_elsewhere_is_named_by_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    assert cluster_state.state_folder({"XDG_STATE_HOME": "/var/x"}) == Path("/var/x/mooring")
    monkeypatch.setenv("HOME", "/home/me")
    expected = Path("/home/me/.local/state/mooring")
    assert cluster_state.state_folder({"XDG_STATE_HOME": "relative"}) == expected
    assert cluster_state.state_folder({}) == expected


def test_without_a_home_nothing_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless(self: Path) -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setattr(Path, "expanduser", homeless)
    assert running_clusters() == []
    cluster_state.forget("x")
    with pytest.raises(OSError, match="set XDG_STATE_HOME"):
        cluster_state.save(record(Path("/x")))
