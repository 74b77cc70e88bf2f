from __future__ import annotations

from pathlib import Path

import pytest

from mooring import Plugin
from mooring.api.durations import Duration
from mooring.app.command_line import read_flags
from mooring.app.config_source import effective_config, write_config
from mooring.app.options import make_options, read_feature_gates
from mooring.config import LoadResult, default_config, load_config, to_v1
from mooring.errors import ConfigError
from mooring.registry import default_registry

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
POLICY = '{"kind": "Policy", "apiVersion": "v1", "predicates": [{"name": "HostName"}]}'


class Sample(Plugin):
    name = "sample"

    def filter(self, state, pod, node):
        return None


def effective(*argv: str, plugins=(), read_config_map=None) -> LoadResult:
    flags = read_flags(argv)
    options = make_options(flags, read_feature_gates(flags))
    registry = default_registry(plugins)
    return effective_config(options, registry, plugins, read_config_map)


def write(folder: Path, name: str, text: str) -> str:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_without_flags_it_is_the_default_configuration() -> None:
    assert effective().config == default_config(registry=default_registry()).config


def test_deprecated_and_leader_election_flags_count_without_a_file() -> None:
    config = effective(
        "--kubeconfig=k",
        "--kube-api-qps=5",
        "--kube-api-burst=7",
        "--profiling=false",
        "--leader-elect=false",
        "--leader-elect-lease-duration=30s",
        "--leader-elect-resource-name=mine",
    ).config
    assert config.client_connection.kubeconfig == "k"
    assert (config.client_connection.qps, config.client_connection.burst) == (5.0, 7)
    assert config.enable_profiling is False
    assert config.leader_election.leader_elect is False
    assert config.leader_election.lease_duration == Duration.from_seconds(30)
    assert config.leader_election.resource_name == "mine"


def test_beside_a_file_leader_election_flags_count_and_deprecated_ones_do_not(
    tmp_path: Path,
) -> None:
    body = "clientConnection: {kubeconfig: own}\nleaderElection: {leaderElect: true}\n"
    file = write(tmp_path, "c.yaml", HEAD + body)
    config = effective(
        f"--config={file}", "--kubeconfig=k", "--leader-elect=false", "--lock-object-name=old"
    ).config
    assert config.client_connection.kubeconfig == "own"
    assert config.leader_election.leader_elect is False
    assert config.leader_election.resource_name == "kube-scheduler"


def test_a_file_that_a_flag_makes_wrong_is_refused(tmp_path: Path) -> None:
    file = write(tmp_path, "c.yaml", HEAD)
    with pytest.raises(ConfigError, match=r"leaderElection\.leaseDuration: Invalid value"):
        effective(f"--config={file}", "--leader-elect-lease-duration=1s")


def test_the_names_of_the_lock_by_their_old_flags() -> None:
    election = effective(
        "--lock-object-name=a",
        "--lock-object-namespace=b",
        "--leader-elect-resource-namespace=c",
    ).config.leader_election
    assert (election.resource_name, election.resource_namespace) == ("a", "c")


def test_a_scheduler_name_by_its_old_flag() -> None:
    result = effective("--scheduler-name=mine")
    assert [profile.scheduler_name for profile in result.config.profiles] == ["mine"]
    assert [profile.scheduler_name for profile in result.profiles] == ["mine"]


def test_an_algorithm_provider_brings_its_own_plugins() -> None:
    result = effective("--algorithm-provider=ClusterAutoscalerProvider", "--scheduler-name=mine")
    args = {one.name: one.args for one in result.config.profiles[0].plugin_config}
    assert args["NodeResourcesFit"].scoring_strategy.type == "MostAllocated"
    assert result.profiles[0].scheduler_name == "mine"
    assert any("; its v1 form is:" in warning for warning in result.warnings)


def test_an_unknown_algorithm_provider_is_refused() -> None:
    with pytest.raises(ConfigError, match='algorithm provider "X" is not registered'):
        effective("--algorithm-provider=X")


def test_a_policy_file(tmp_path: Path) -> None:
    result = effective(f"--policy-config-file={write(tmp_path, 'p.json', POLICY)}")
    filters = {
        name for point, names in _names(result).items() if point == "filter" for name in names
    }
    assert "NodeName" in filters
    assert "NodeResourcesFit" not in filters


def test_a_policy_in_a_config_map_of_a_namespace() -> None:
    asked = []

    def read(namespace: str, name: str) -> dict[str, str]:
        asked.append((namespace, name))
        return {"policy.cfg": POLICY}

    argv = ["--policy-configmap=p", "--policy-configmap-namespace=n", "--scheduler-name=mine"]
    result = effective(*argv, read_config_map=read)
    assert asked == [("n", "p")]
    assert "NodeResourcesFit" not in _names(result)["filter"]
    assert result.profiles[0].scheduler_name == "mine"


def test_a_policy_takes_the_place_of_a_files_profiles(tmp_path: Path) -> None:
    file = write(tmp_path, "c.yaml", HEAD + "parallelism: 3\nprofiles: [{schedulerName: a}]\n")
    policy = write(tmp_path, "p.json", POLICY)
    result = effective(f"--config={file}", f"--policy-config-file={policy}", "--scheduler-name=x")
    assert result.config.parallelism == 3
    assert [profile.scheduler_name for profile in result.profiles] == ["default-scheduler"]


def test_the_legacy_flag_prefers_the_file_and_needs_it(tmp_path: Path) -> None:
    policy = write(tmp_path, "p.json", POLICY)
    legacy = "--use-legacy-policy-config"
    effective(legacy, f"--policy-config-file={policy}", "--policy-configmap=absent")
    with pytest.raises(ConfigError, match="required when --use-legacy-policy-config is true"):
        effective(legacy)


def test_a_plugin_runs_by_default_and_is_missed_in_a_file(tmp_path: Path) -> None:
    assert "sample" in _names(effective(plugins=[Sample]))["filter"]
    file = write(tmp_path, "c.yaml", HEAD)
    result = effective(f"--config={file}", plugins=[Sample])
    assert "sample" not in _names(result)["filter"]
    assert result.warnings == (
        f"{file}: no profile uses plugin sample: name it in `plugins`, or leave --config out",
    )


def test_what_is_written_reads_as_what_is_in_force(tmp_path: Path) -> None:
    config = effective("--leader-elect=false", "--kube-api-qps=5").config
    file = tmp_path / "out.yaml"
    write_config(config, str(file))
    assert to_v1(load_config(file).config) == to_v1(config)


def test_a_place_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    place = tmp_path / "absent" / "out.yaml"
    with pytest.raises(ConfigError, match=f"open {place}: no such file or directory"):
        write_config(effective().config, str(place))


def _names(result: LoadResult) -> dict[str, tuple[str, ...]]:
    profile = result.profiles[0]
    return {point.value.key: profile.names(point) for point in profile.points}
