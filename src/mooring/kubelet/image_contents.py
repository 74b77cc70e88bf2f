"""The images whose containers run as processes: those that the user names with `--image`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec

from mooring.errors import ConfigError

#: The name of Mooring's own image and program.
OWN = "mooring"
_HUB = "docker.io"
_EXPECTED = 'expected "NAME", "NAME=FILE.py:Class" or "NAME=package.module:Class"'


class Image(msgspec.Struct, frozen=True):
    """The contents of an image: Mooring, and the plugins that the user says are in it."""

    #: Files with absolute paths, and modules. Without any, a container runs what it names itself.
    plugins: tuple[str, ...] = ()

    @property
    def is_confined(self) -> bool:
        """Return whether its containers run these plugins alone."""
        return bool(self.plugins)


class ImageContents:
    """The images that the user has named. `mapped` has pairs of an image's name and a plugin or "".

    A name without a path stands for images of that name from any registry. All other images are
    simulated: no object of the API starts a process by itself.
    """

    def __init__(self, mapped: Iterable[tuple[str, str]] = ()) -> None:
        self._images: dict[tuple[str, str], Image] = {}
        #: The images as the user has named them.
        self.named: dict[str, Image] = {}
        for given, plugin in mapped:
            name, tag = split_reference(given)
            key = (name if "/" in given else _last(name), tag)
            known = self._images.get(key)
            if known is not None and known.is_confined != bool(plugin):
                raise ConfigError(
                    f"--image {given}: is given with a plugin and without one; a container either "
                    "runs that plugin alone or any plugin that it names"
                )
            before = known.plugins if known is not None else ()
            image = Image((*before, plugin) if plugin else ())
            self._images[key] = self.named[given] = image

    def find(self, reference: str) -> Image | None:
        """Return the contents of an image; None for one that is simulated."""
        name, tag = split_reference(reference)
        short = _last(name)
        for key in ((name, tag), (name, ""), (short, tag), (short, "")):
            if key in self._images:
                return self._images[key]
        return None

    def lacks(self, reference: str) -> bool:
        """Return whether an image is Mooring by its name, but the user has not named it."""
        return self.find(reference) is None and _last(split_reference(reference)[0]) == OWN


def _last(name: str) -> str:
    return name.rpartition("/")[2]


def split_reference(reference: str) -> tuple[str, str]:
    """Return an image's full name, and its tag or digest.

    >>> split_reference("custom-scheduler:v1.0")
    ('docker.io/library/custom-scheduler', 'v1.0')
    >>> split_reference("localhost:5000/team/mooring@sha256:1234")
    ('localhost:5000/team/mooring', 'sha256:1234')
    """
    # distribution/reference: normalize.go
    name, _, digest = reference.partition("@")
    slash = name.rfind("/")
    colon = name.find(":", slash + 1)
    tag = "" if colon < 0 else name[colon + 1 :]
    name = name if colon < 0 else name[:colon]
    host, found, _ = name.partition("/")
    if not found:
        name = f"{_HUB}/library/{name}"
    elif "." not in host and ":" not in host and host != "localhost":
        name = f"{_HUB}/{name}"
    return name, digest or tag


def parse_image(text: str) -> tuple[str, str]:
    """Parse NAME or NAME=PLUGIN, the value of `--image`; the plugin is "" if there is none.

    A plugin's file becomes an absolute path.
    """
    # Neither an image's name nor a plugin reference contains "=".
    name, found, plugin = text.partition("=")
    if not name or any(map(str.isspace, name)) or ".py" in name:
        raise ConfigError(f"--image {text}: {_EXPECTED}")
    if not found:
        return name, ""
    where, _, attribute = plugin.rpartition(":")
    if not where or not attribute.isidentifier():
        raise ConfigError(f"--image {text}: {_EXPECTED}")
    if where.endswith(".py"):
        file = Path(where)
        if not file.is_file():
            raise ConfigError(f"--image {text}: no such file: {where}")
        plugin = f"{file.resolve()}:{attribute}"
    return name, plugin
