"""Which images really run: schedulers built with Mooring."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec

from mooring.errors import ConfigError

#: An image of this name, from any registry, is Mooring itself.
OWN = "mooring"
_HUB = "docker.io"


class Image(msgspec.Struct, frozen=True):
    """The contents of an image: Mooring, and the plugins built into it."""

    plugins: tuple[str, ...] = ()
    #: Whether the user said what is in it (`--image`); its program may then have any name.
    mapped: bool = False


class ImageContents:
    """The known images. `mapped` has pairs of an image's name and a plugin.

    A name without a path stands for images of that name from any registry, as `mooring` does.
    """

    def __init__(self, mapped: Iterable[tuple[str, str]] = ()) -> None:
        self._plugins: dict[tuple[str, str], tuple[str, ...]] = {}
        for given, plugin in mapped:
            name, tag = split_reference(given)
            key = (name if "/" in given else _last(name), tag)
            self._plugins[key] = (*self._plugins.get(key, ()), plugin)

    def find(self, reference: str) -> Image | None:
        """Return the contents of an image; None for one that is simulated."""
        name, tag = split_reference(reference)
        short = _last(name)
        for key in ((name, tag), (name, ""), (short, tag), (short, "")):
            if key in self._plugins:
                return Image(self._plugins[key], mapped=True)
        return Image() if short == OWN else None


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
    """Parse NAME=PLUGIN, the value of `--image`; a plugin's file becomes an absolute path."""
    # Neither an image's name nor a plugin reference contains "=".
    name, found, plugin = text.partition("=")
    where, _, attribute = plugin.rpartition(":")
    if not found or not name or not where or not attribute.isidentifier():
        raise ConfigError(
            f'--image {text}: expected "NAME=FILE.py:Class" or "NAME=package.module:Class"'
        )
    if where.endswith(".py"):
        file = Path(where)
        if not file.is_file():
            raise ConfigError(f"--image {text}: no such file: {where}")
        plugin = f"{file.resolve()}:{attribute}"
    return name, plugin
