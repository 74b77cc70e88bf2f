"""Volumes as directories."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from mooring.kubelet.container_volumes import VolumeError, Volumes
from tests.kubelet.sources import FakeSources, Object, pod_with

CONFIG = {"name": "v", "configMap": {"name": "config"}}
TOKEN = {"path": "token", "expirationSeconds": 3607}
FIELD = {"fieldRef": {"fieldPath": "metadata.namespace"}}
ACCESS = {
    "name": "access",
    "projected": {
        "defaultMode": 0o440,
        "sources": [
            {"serviceAccountToken": TOKEN},
            {"configMap": {"name": "ca", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
            {"downwardAPI": {"items": [{"path": "namespace", **FIELD}]}},
        ],
    },
}


@pytest.fixture
def sources() -> FakeSources:
    """Return two ConfigMaps and a Secret."""
    made = FakeSources()
    made.config_maps = {"config": {"a.yaml": b"A", "b.yaml": b"B"}, "ca": {"ca.crt": b"PEM"}}
    made.secrets = {"secret": {"kubeconfig": b"K"}}
    return made


@pytest.fixture
def volumes(tmp_path: Path, sources: FakeSources) -> Volumes:
    """Return the volumes of a pod."""
    return Volumes(tmp_path / "volumes", sources)


def files(folder: Path) -> dict[str, str]:
    found = {}
    for place, _, names in os.walk(folder, followlinks=True):
        for name in names:
            path = Path(place, name)
            found[str(path.relative_to(folder))] = path.read_text()
    return found


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


@pytest.mark.parametrize(
    ("volume", "written"),
    [
        pytest.param({"configMap": {"name": "config"}}, {"a.yaml": "A", "b.yaml": "B"}, id="all"),
        pytest.param(
            {"configMap": {"name": "config", "items": [{"key": "a.yaml", "path": "x/y"}]}},
            {"x/y": "A"},
            id="chosen keys",
        ),
        pytest.param({"secret": {"secretName": "secret"}}, {"kubeconfig": "K"}, id="a Secret"),
        pytest.param({"secret": {"secretName": "no", "optional": True}}, {}, id="optional"),
        pytest.param({"emptyDir": {}}, {}, id="empty"),
        pytest.param({"hostPath": {"path": "/etc", "type": ""}}, {}, id="a fake node's disk"),
        pytest.param(
            {"downwardAPI": {"items": [{"path": "n", **FIELD}]}}, {"n": "team"}, id="fields"
        ),
    ],
)
async def test_what_is_in_a_volume(
    volumes: Volumes, tmp_path: Path, volume: Object, written: dict[str, str]
) -> None:
    await volumes.lay_out(pod_with({"name": "v", **volume}))
    assert files(tmp_path / "volumes" / "v") == written


@pytest.mark.parametrize(
    ("volume", "why"),
    [
        pytest.param({"configMap": {"name": "x"}}, 'configmap "x" not found', id="ConfigMap"),
        pytest.param({"secret": {"secretName": "x"}}, 'secret "x" not found', id="Secret"),
        pytest.param(
            {"configMap": {"name": "config", "items": [{"key": "x", "path": "x"}]}},
            "configmap references non-existent config key: x",
            id="a key of a ConfigMap",
        ),
        pytest.param(
            {"secret": {"secretName": "secret", "items": [{"key": "x", "path": "x"}]}},
            "references non-existent secret key: x",
            id="a key of a Secret",
        ),
        pytest.param(
            {"hostPath": {"path": "/etc/kubernetes", "type": "Directory"}},
            "hostPath type check failed: /etc/kubernetes is not a directory",
            id="a folder of the node",
        ),
        pytest.param(
            {"downwardAPI": {"items": [{"path": "a\0b", **FIELD}]}},
            r"[Errno 22] Invalid argument: 'a\x00b'",
            id="a file with a NUL in its name",
        ),
        pytest.param(
            {"downwardAPI": {"items": [{"path": "a/" * 2000 + "b", **FIELD}]}},
            "[Errno 36] File name too long",
            id="a file in a thousand folders",
        ),
    ],
)
async def test_what_is_missing_is_told_as_a_kubelet_does(
    volumes: Volumes, volume: Object, why: str
) -> None:
    with pytest.raises(VolumeError) as raised:
        await volumes.lay_out(pod_with({"name": "v", **volume}))
    assert str(raised.value) == f'MountVolume.SetUp failed for volume "v" : {why}'


@pytest.mark.parametrize("field", ["mountPath", "subPath"])
async def test_a_mount_that_no_file_system_can_have_is_an_error_of_the_system(
    volumes: Volumes, tmp_path: Path, field: str
) -> None:
    for path in ("a\0b", "a/" * 2000):
        with pytest.raises(OSError):
            await mounted(volumes, tmp_path / "root", {"name": "v", "mountPath": "/m", field: path})


async def test_a_service_accounts_volume(volumes: Volumes, tmp_path: Path) -> None:
    await volumes.lay_out(pod_with(ACCESS))
    folder = tmp_path / "volumes" / "access"
    assert files(folder) == {"token": ":3607:1", "ca.crt": "PEM", "namespace": "team"}
    assert mode(folder) == 0o700
    assert mode(folder / "token") == 0o400
    # A renewed token replaces the old one.
    await volumes.lay_out(pod_with(ACCESS))
    assert files(folder)["token"] == ":3607:2"


async def test_volumes_follow_their_sources(
    volumes: Volumes, sources: FakeSources, tmp_path: Path
) -> None:
    await volumes.lay_out(pod_with(CONFIG))
    sources.config_maps["config"] = {"a.yaml": b"new", "c.yaml": b"C"}
    await volumes.lay_out(pod_with(CONFIG))
    assert files(tmp_path / "volumes" / "v") == {"a.yaml": "new", "c.yaml": "C"}


async def mounted(volumes: Volumes, root: Path, *mounts: dict[str, Any], **more: Any) -> None:
    secret = {"name": "s", "secret": {"secretName": "secret"}}
    empty: Object = {"name": "e", "emptyDir": {}}
    pod = pod_with(CONFIG, secret, empty, volumeMounts=list(mounts), **more)
    await volumes.lay_out(pod)
    volumes.mount(pod["spec"]["containers"][0], root, {"NAME": "sub"})


async def test_mounts_make_a_root(volumes: Volumes, sources: FakeSources, tmp_path: Path) -> None:
    root = tmp_path / "root"
    folder = {"name": "v", "mountPath": "/etc/kubernetes"}
    await mounted(volumes, root, folder, {"name": "e", "mountPath": "/tmp"})
    assert files(root) == {"etc/kubernetes/a.yaml": "A", "etc/kubernetes/b.yaml": "B"}
    assert mode(root) == mode(root / "tmp") == 0o700
    sources.config_maps["config"] = {"a.yaml": b"new"}
    await volumes.lay_out(pod_with(CONFIG))
    assert files(root) == {"etc/kubernetes/a.yaml": "new"}


async def test_files_of_several_volumes_share_a_folder(
    volumes: Volumes, sources: FakeSources, tmp_path: Path
) -> None:
    root = tmp_path / "root"
    await mounted(
        volumes,
        root,
        {"name": "v", "mountPath": "/etc/kubernetes/a.yaml", "subPath": "a.yaml"},
        {"name": "s", "mountPath": "/etc/kubernetes/kubeconfig", "subPath": "kubeconfig"},
        {"name": "e", "mountPath": "/work", "subPathExpr": "$(NAME)/x"},
    )
    assert files(root) == {"etc/kubernetes/a.yaml": "A", "etc/kubernetes/kubeconfig": "K"}
    assert (tmp_path / "volumes" / "e" / "sub" / "x").is_dir()
    # A file mounted with subPath is not updated.
    sources.config_maps["config"] = {"a.yaml": b"new"}
    await volumes.lay_out(pod_with(CONFIG))
    assert files(root)["etc/kubernetes/a.yaml"] == "A"


async def test_no_mount_leads_out_of_the_root(volumes: Volumes, tmp_path: Path) -> None:
    root = tmp_path / "root"
    await mounted(volumes, root, {"name": "v", "mountPath": "/../../outside"})
    assert (root / "outside" / "a.yaml").is_file()
    assert sorted(one.name for one in tmp_path.iterdir()) == ["root", "volumes"]
    await mounted(volumes, root, {"name": "e", "mountPath": "/e", "subPath": "../../../x"})
    assert (root / "e").resolve() == tmp_path / "volumes" / "e" / "x"


async def test_a_mount_within_a_mount(volumes: Volumes, tmp_path: Path) -> None:
    root = tmp_path / "root"
    inner = {"name": "s", "mountPath": "/etc/kubernetes"}
    await mounted(volumes, root, inner, {"name": "v", "mountPath": "/etc"})
    assert files(root) == {
        "etc/a.yaml": "A",
        "etc/b.yaml": "B",
        "etc/kubernetes/kubeconfig": "K",
    }
