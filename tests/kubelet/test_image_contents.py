"""Which images really run."""

from __future__ import annotations

from pathlib import Path

import pytest

from mooring.errors import ConfigError
from mooring.kubelet.image_contents import Image, ImageContents, parse_image

MAPPED = ImageContents(
    [
        ("custom-scheduler", "a.py:A"),
        ("custom-scheduler", "b.py:B"),
        ("cfanbo/sample-scheduler:v0.0.1", "c.py:C"),
        ("ghcr.io/team/mine", "d.py:D"),
        ("mooring", ""),
    ]
)
BOTH = Image(("a.py:A", "b.py:B"))


@pytest.mark.parametrize(
    ("reference", "found"),
    [
        pytest.param("mooring", Image(), id="without a plugin"),
        pytest.param("mooring:v1", Image(), id="with a tag"),
        pytest.param("registry.example:5000/a/mooring@sha256:12", Image(), id="any registry"),
        pytest.param("mooring/other", None, id="the name of a folder is another image"),
        pytest.param("my-mooring", None, id="a longer name is another image"),
        pytest.param("nginx", None, id="others are simulated"),
        pytest.param("custom-scheduler:v1.0", BOTH, id="mapped without a tag, used with one"),
        pytest.param("docker.io/library/custom-scheduler", BOTH, id="written in full"),
        pytest.param("ghcr.io/team/custom-scheduler:v2", BOTH, id="a short name, any registry"),
        pytest.param("cfanbo/sample-scheduler:v0.0.1", Image(("c.py:C",)), id="same tag"),
        pytest.param("cfanbo/sample-scheduler:v2", None, id="another tag"),
        pytest.param("team/mine", None, id="another registry"),
        pytest.param("ghcr.io/team/mine@sha256:1", Image(("d.py:D",)), id="a digest"),
    ],
)
def test_images_are_found_by_name(reference: str, found: Image | None) -> None:
    assert MAPPED.find(reference) == found


def test_no_image_runs_by_default() -> None:
    assert ImageContents().find("mooring") is None
    assert ImageContents().lacks("registry.example/mooring:v1")
    assert not ImageContents().lacks("nginx")
    assert not MAPPED.lacks("mooring")


def test_an_image_has_a_plugin_or_none() -> None:
    for mapped in ([("a", ""), ("a", "b.py:B")], [("a", "b.py:B"), ("a", "")]):
        with pytest.raises(ConfigError, match="given with a plugin and without one"):
            ImageContents(mapped)


def test_the_option_has_a_name_and_a_plugin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("plugin.py").touch()
    assert parse_image("a/b:v1=plugin.py:Mine") == ("a/b:v1", f"{tmp_path}/plugin.py:Mine")
    assert parse_image("a=package.module:Mine") == ("a", "package.module:Mine")
    assert parse_image("registry.example:5000/a/b:v1") == ("registry.example:5000/a/b:v1", "")


@pytest.mark.parametrize(
    "text", ["", "a b", "b.py:C", "a=", "=b.py:C", "a=b.py", "a=b.py:", "a=b.py:no name"]
)
def test_what_is_no_mapping_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="expected"):
        parse_image(text)


def test_a_file_must_be_there() -> None:
    with pytest.raises(ConfigError, match=r"no such file: nowhere\.py"):
        parse_image("a=nowhere.py:Mine")
