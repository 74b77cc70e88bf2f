from __future__ import annotations

from pathlib import Path

import pytest

from mooring.app.command_line import read_flags
from mooring.app.config_maps import config_map_reader
from mooring.app.options import Options, make_options, read_feature_gates
from mooring.errors import ApiError, ConfigError
from tests.support.cluster import Cluster

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


def options(*argv: str) -> Options:
    flags = read_flags(argv)
    return make_options(flags, read_feature_gates(flags))


def test_the_flags_name_the_kubeconfig_and_with_a_file_the_file_does(tmp_path: Path) -> None:
    read = config_map_reader(options("--kubeconfig=/absent/flag"))
    with pytest.raises(ConfigError, match="/absent/flag"):
        read("ns", "name")
    file = tmp_path / "c.yaml"
    file.write_text(HEAD + "clientConnection: {kubeconfig: /absent/file}\n", encoding="utf-8")
    read = config_map_reader(options(f"--config={file}", "--kubeconfig=/absent/flag"))
    with pytest.raises(ConfigError, match="/absent/file"):
        read("ns", "name")


def test_a_config_map_of_a_real_api_server(cluster: Cluster) -> None:
    cluster.create(
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "policy"},
            "data": {"policy.cfg": "{}"},
        }
    )
    read = config_map_reader(options(f"--kubeconfig={cluster.plane.admin_kubeconfig}"))
    assert read(cluster.namespace, "policy") == {"policy.cfg": "{}"}
    with pytest.raises(ApiError) as caught:
        read(cluster.namespace, "absent")
    assert caught.value.is_not_found
