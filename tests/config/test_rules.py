"""The rules of a configuration file and plugins."""

from __future__ import annotations

from pathlib import Path

import pytest

from mooring.config.load import LoadResult, load_config
from mooring.config.rules import Rules, make_rules
from mooring.contrib.samples import Sample
from mooring.errors import ConfigError
from mooring.framework.features import FeatureGates
from mooring.framework.plugin import Plugin

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
USES = HEAD + "profiles: [{plugins: {filter: {enabled: [{name: sample}]}}}]\n"


def rules(text: str | None, tmp_path: Path, *plugins: type[Plugin]) -> Rules:
    file = None
    if text is not None:
        file = tmp_path / "config.yaml"
        file.write_text(text)
    return make_rules(file, plugins, FeatureGates())


def test_plugin_without_a_file_runs_in_addition(tmp_path: Path) -> None:
    found = rules(None, tmp_path, Sample)
    (profile,) = found.config.profiles
    assert {"sample", "NodeResourcesFit"} <= set(profile.plugins)
    assert "sample" in found.registry
    assert found.config.warnings == ()


@pytest.mark.parametrize(("text", "warned"), [(USES, False), (HEAD, True)], ids=["used", "unused"])
def test_plugin_that_a_file_does_not_use_gets_a_warning(
    text: str, warned: bool, tmp_path: Path
) -> None:
    found = rules(text, tmp_path, Sample).config
    assert ("sample" in found.profiles[0].plugins) is not warned
    expected = (
        f"{tmp_path / 'config.yaml'}: no profile uses plugin sample: name it in `plugins`, "
        "or leave --config out"
    )
    assert found.warnings == ((expected,) if warned else ())


def test_file_that_names_an_unknown_plugin_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="sample"):
        rules(USES, tmp_path)


def test_document_may_be_loaded_in_another_way(tmp_path: Path) -> None:
    files: list[str] = []

    def load(file: str, **settings: object) -> LoadResult:
        files.append(file)
        return load_config(tmp_path / file, **settings)  # type: ignore[arg-type]

    (tmp_path / "config.yaml").write_text(USES)
    found = make_rules("config.yaml", [Sample], FeatureGates(), load)
    assert (files, found.config.warnings) == (["config.yaml"], ())
