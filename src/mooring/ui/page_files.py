"""The static files of the page, read once and compressed once."""

from __future__ import annotations

import gzip
import mimetypes
from importlib.resources import files
from importlib.resources.abc import Traversable

import msgspec

from mooring.errors import MooringError

#: The folder of the package that holds them.
_FOLDER = files("mooring.ui") / "static"
#: What the page is made of. The licences of the libraries are in the package, and not served.
_SUFFIXES = {".html", ".css", ".js", ".mjs", ".svg"}


class PageFile(msgspec.Struct, frozen=True):
    """One static file."""

    content_type: str
    #: Compressed with gzip, which every browser reads.
    packed: bytes
    #: Its size before that.
    size: int


def load_page() -> dict[str, PageFile]:
    """Return the files by their path in a URL; raise MooringError if the package lacks them."""
    found = dict(_walk(_FOLDER, "/"))
    if "/index.html" not in found:
        raise MooringError("the page's files are missing from the package; install it again")
    found["/"] = found.pop("/index.html")
    return found


def _walk(folder: Traversable, path: str) -> list[tuple[str, PageFile]]:
    if not folder.is_dir():
        return []
    pairs: list[tuple[str, PageFile]] = []
    for one in folder.iterdir():
        if one.is_dir():
            pairs += _walk(one, f"{path}{one.name}/")
        elif "." in one.name and f".{one.name.rpartition('.')[2]}" in _SUFFIXES:
            data = one.read_bytes()
            kind = _content_type(one.name)
            pairs.append((path + one.name, PageFile(kind, gzip.compress(data, 9), len(data))))
    return pairs


def _content_type(name: str) -> str:
    # Not from the system's table, in which .mjs and .js differ from machine to machine.
    if name.endswith((".js", ".mjs")):
        return "text/javascript; charset=utf-8"
    kind = mimetypes.types_map.get(f".{name.rpartition('.')[2]}", "application/octet-stream")
    return f"{kind}; charset=utf-8"
