"""Which versions of a configuration file are read."""

from __future__ import annotations

import pytest

from mooring.config.load import load_config_text
from mooring.config.versions import OLDER_VERSIONS
from mooring.errors import ConfigError

OLD = "apiVersion: kubescheduler.config.k8s.io/v1beta3\nkind: KubeSchedulerConfiguration\n"


def test_an_older_version_is_read_with_a_warning() -> None:
    result = load_config_text(OLD)
    assert result.warnings


@pytest.mark.parametrize("version", OLDER_VERSIONS)
def test_where_only_v1_is_wanted_an_older_version_is_refused_by_name(version: str) -> None:
    text = f"apiVersion: {version}\nkind: KubeSchedulerConfiguration\n"
    with pytest.raises(ConfigError, match=f'registered for version "{version}"'):
        load_config_text(text, current_only=True)


def test_where_only_v1_is_wanted_v1_is_read() -> None:
    text = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
    assert load_config_text(text, current_only=True).warnings == ()
