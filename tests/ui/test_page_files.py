"""The static files of the page."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
from pathlib import Path

import msgspec
import pytest

import mooring.ui
from mooring.testing.builders import make_node, make_pod
from mooring.ui.page_files import load_page
from mooring.ui.page_nodes import NodeTable
from tests.explain.runs import make_scheduler

ROOT = Path(__file__).resolve().parents[2]
PAGE = Path(mooring.ui.__file__).with_name("static")
LIBRARIES = json.loads((PAGE / "vendor" / "libraries.json").read_text())
MAKES_HTML = re.compile(
    r"innerHTML|outerHTML|insertAdjacent|document\.write|\beval\(|new Function|https?://"
)
#: Bytes of the first transfer, compressed, and of the page's own script.
MOST_TRANSFER = 300_000
MOST_SCRIPT = 120_000


def test_every_file_has_a_type_and_its_content() -> None:
    files = load_page()
    assert files["/"].content_type == "text/html; charset=utf-8"
    assert files["/main.js"].content_type == "text/javascript; charset=utf-8"
    assert files["/vendor/preact.mjs"].content_type == "text/javascript; charset=utf-8"
    assert files["/style.css"].content_type == "text/css; charset=utf-8"
    assert files["/icon.svg"].content_type == "image/svg+xml; charset=utf-8"
    assert "/index.html" not in files
    for path, file in files.items():
        data = (PAGE / (path[1:] or "index.html")).read_bytes()
        assert (gzip.decompress(file.packed), file.size) == (data, len(data))


def test_only_the_page_is_served() -> None:
    suffixes = {path.rpartition(".")[2] for path in load_page()}
    assert suffixes == {"/", "js", "mjs", "css", "svg"}


def test_the_page_is_small() -> None:
    files = load_page()
    objects = [
        make_node(f"node-{i}", zone=f"zone-{i % 3}", cpu=str(4 + i % 7), rack=f"rack-{i % 50}")
        for i in range(5000)
    ]
    objects += [make_pod(f"pod-{i}", node=f"node-{i * 7 % 5000}", cpu="1") for i in range(5000)]
    cache = make_scheduler(objects).cache
    nodes = gzip.compress(msgspec.json.encode(NodeTable(lambda: cache.nodes).whole()), 5)
    page = sum(len(file.packed) for file in files.values())
    assert page + len(nodes) < MOST_TRANSFER
    own = [file.size for path, file in files.items() if re.fullmatch(r"/\w+\.js", path)]
    assert 0 < sum(own) < MOST_SCRIPT


@pytest.mark.parametrize("library", LIBRARIES, ids=lambda library: library["name"])
def test_a_library_is_what_its_release_has(library: dict[str, str]) -> None:
    data = (PAGE / "vendor" / library["file"]).read_bytes()
    assert hashlib.sha256(data).hexdigest() == library["sha256"]
    licence = (PAGE / "vendor" / library["licenceFile"]).read_text()
    assert library["licence"].removesuffix("-2.0") in licence.replace("Apache License", "Apache")
    notice = " ".join((ROOT / "NOTICE").read_text().split())
    for word in ("name", "version", "licence", "sha256"):
        assert library[word] in notice


def test_every_library_is_listed() -> None:
    present = {path.name for path in (PAGE / "vendor").iterdir()} - {"libraries.json"}
    assert present == {one[key] for one in LIBRARIES for key in ("file", "licenceFile")}


def test_modules_import_files_of_the_page_alone() -> None:
    files = load_page()
    for path in sorted(PAGE.rglob("*.js")):
        text = path.read_text()
        for name in re.findall(r'^(?:import|export)\b[^;]*? from "([^"]+)";', text, re.MULTILINE):
            assert "/" + (path.parent / name).resolve().relative_to(PAGE).as_posix() in files
        # Texts of the cluster become text nodes: there is no way to make HTML of a string.
        assert not MAKES_HTML.search(text), path.name
