"""The volumes of a pod, as directories on this machine.

Instead of mounting, a container's root is a directory in which each mount is a symbolic link to
the volume's directory. A file mounted with subPath is copied when the container starts: a kubelet
does not update it later either.
"""

# kubernetes: pkg/volume/{configmap,secret,projected,downwardapi,hostpath}

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path
from typing import Any

from mooring.kubelet.command_lines import expand
from mooring.kubelet.pod_fields import PodFieldError, field_value, resource_value
from mooring.kubelet.pod_sources import PodSources, SourceError
from mooring.observe.files import file_name

Object = dict[str, Any]
#: Data and mode by path.
Files = dict[str, tuple[bytes, int]]

_MODE = 0o644
_TOKEN_SECONDS = 3600
# Other users of this machine must not read the files of a pod.
_OWNER = 0o700
_READ = 0o400
#: The most folders of a path within a volume; creating them recurses.
_MOST_PARTS = 255
_HOST_PATHS = {
    "Directory": "a directory",
    "File": "a file",
    "Socket": "a socket file",
    "CharDevice": "a character device",
    "BlockDevice": "a block device",
}


class VolumeError(Exception):
    """A volume that cannot be set up, reported in the kubelet's words."""

    def __init__(self, volume: str, why: str) -> None:
        super().__init__(f'MountVolume.SetUp failed for volume "{volume}" : {why}')


class Volumes:
    """The volumes of one pod, in a directory."""

    def __init__(self, folder: Path, sources: PodSources) -> None:
        self._folder = folder
        self._sources = sources
        self._written: dict[str, set[str]] = {}

    async def lay_out(self, pod: Object) -> None:
        """Write every volume from its sources; raise VolumeError if a source is missing."""
        for volume in pod["spec"].get("volumes") or ():
            folder = self._place(volume["name"])
            try:
                files = await self._files(pod, volume)
            except (SourceError, PodFieldError) as error:
                raise VolumeError(volume["name"], str(error)) from None
            folder.mkdir(mode=_OWNER, parents=True, exist_ok=True)
            if files is not None:
                try:
                    files = {inside(name): one for name, one in files.items()}
                    _write(folder, files, self._written.get(volume["name"], set()))
                except OSError as error:
                    raise VolumeError(volume["name"], str(error)) from None
                self._written[volume["name"]] = set(files)

    def _place(self, name: str) -> Path:
        # Objects of other clusters are not validated here: a name may be a path.
        return self._folder / file_name(name)

    async def _files(self, pod: Object, volume: Object) -> Files | None:
        """Return the files of a volume; None if it starts empty and the pod writes it."""
        if source := volume.get("configMap"):
            data = await self._sources.config_map(source["name"], source.get("optional", False))
            return _chosen(data, source, source, "configmap references non-existent config key")
        if source := volume.get("secret"):
            data = await self._sources.secret(source["secretName"], source.get("optional", False))
            return _chosen(data, source, source, "references non-existent secret key")
        if source := volume.get("downwardAPI"):
            return _fields(pod, source, source)
        if source := volume.get("projected"):
            return await self._projected(pod, source)
        if source := volume.get("hostPath"):
            _check_host_path(source)
        return None

    async def _projected(self, pod: Object, source: Object) -> Files:
        files: Files = {}
        for one in source.get("sources") or ():
            if part := one.get("configMap"):
                data = await self._sources.config_map(part["name"], part.get("optional", False))
                missing = "configmap references non-existent config key"
                files |= _chosen(data, part, source, missing)
            elif part := one.get("secret"):
                data = await self._sources.secret(part["name"], part.get("optional", False))
                files |= _chosen(data, part, source, "references non-existent secret key")
            elif part := one.get("downwardAPI"):
                files |= _fields(pod, part, source)
            elif part := one.get("serviceAccountToken"):
                seconds = part.get("expirationSeconds") or _TOKEN_SECONDS
                token = await self._sources.token(part.get("audience", ""), seconds)
                files[part["path"]] = (token.encode(), _mode({}, source))
        return files

    def mount(self, container: Object, root: Path, environment: dict[str, str]) -> None:
        """Create a container's root directory with its mounts and their parent directories."""
        shutil.rmtree(root, ignore_errors=True)
        root.mkdir(mode=_OWNER, parents=True)
        mounts = container.get("volumeMounts") or ()
        for mount in sorted(mounts, key=lambda one: len(one["mountPath"])):
            place = root / inside(mount["mountPath"])
            place.parent.mkdir(mode=_OWNER, parents=True, exist_ok=True)
            part = mount.get("subPath") or expand(mount.get("subPathExpr", ""), environment)
            _mount(self._place(mount["name"]), inside(part), place)


def inside(path: str) -> str:
    """Return a path relative to the folder that it is in; `..` does not lead out of it.

    Raise OSError for a path that no file can have, or with too many parts to create.

    >>> inside("/../etc/a"), inside("/")
    ('etc/a', '')
    """
    normal = os.path.normpath("/" + path).lstrip("/")
    if "\0" in normal:
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL), path)
    if normal.count("/") >= _MOST_PARTS:
        raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG))
    return normal


def _mount(volume: Path, part: str, place: Path) -> None:
    source = volume / part
    if place.is_dir() and not place.is_symlink() and source.is_dir():
        # The place is the root itself or already holds another mount.
        shutil.copytree(source, place, dirs_exist_ok=True)
        return
    if place.is_symlink() or place.exists():
        place.unlink()
    if not part:
        place.symlink_to(volume)
    elif source.is_file():
        shutil.copy2(source, place)
    else:
        source.mkdir(mode=_OWNER, parents=True, exist_ok=True)
        place.symlink_to(source)


def _chosen(data: dict[str, bytes], part: Object, volume: Object, missing: str) -> Files:
    items = part.get("items")
    if not items:
        return {key: (value, _mode({}, volume)) for key, value in data.items()}
    files: Files = {}
    for item in items:
        if item["key"] in data:
            files[item["path"]] = (data[item["key"]], _mode(item, volume))
        elif not part.get("optional", False):
            raise SourceError(f"{missing}: {item['key']}")
    return files


def _fields(pod: Object, part: Object, volume: Object) -> Files:
    files: Files = {}
    for item in part.get("items") or ():
        if reference := item.get("fieldRef"):
            text = field_value(pod, reference["fieldPath"])
        else:
            text = resource_value(pod, item.get("resourceFieldRef") or {}, "")
        files[item["path"]] = (text.encode(), _mode(item, volume))
    return files


def _mode(item: Object, volume: Object) -> int:
    mode: int | None = item.get("mode")
    if mode is None:
        mode = volume.get("defaultMode", _MODE)
    return (mode & _OWNER) | _READ


def _check_host_path(source: Object) -> None:
    # A fake node's disk is empty: a path that must exist does not, and any other starts empty.
    wanted = _HOST_PATHS.get(source.get("type") or "")
    if wanted:
        raise SourceError(f"hostPath type check failed: {source['path']} is not {wanted}")


def _write(folder: Path, files: Files, before: set[str]) -> None:
    """Make a directory hold these files; each one is replaced atomically."""
    for name, (data, mode) in files.items():
        path = folder / name
        if path.is_file() and path.read_bytes() == data:
            continue
        path.parent.mkdir(mode=_OWNER, parents=True, exist_ok=True)
        fresh = path.with_name(f"..{path.name}")
        fresh.unlink(missing_ok=True)
        with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(data)
        fresh.chmod(mode)
        fresh.replace(path)
    for name in before - set(files):
        (folder / name).unlink(missing_ok=True)
