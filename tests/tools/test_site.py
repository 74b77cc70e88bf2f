"""The documentation site: it builds without a warning, and holds what the code holds."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from mkdocs.structure.pages import Page

import mooring
import mooring.testing
from mooring.app.flag_table import ALL
from mooring.observe.metrics import Metrics
from tests.support.site import build_site, pages_with_pictures
from tools.site import attribute_comments, commands, config_fields, hooks, metrics


class Text(HTMLParser):
    """The text of a page, without tags."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.text = ""
        self.feed(html)

    def handle_data(self, data: str) -> None:
        self.text += data


class Pictures(HTMLParser):
    """The sources of a page's pictures."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.sources: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "img":
            self.sources.append(dict(attrs)["src"] or "")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_site(tmp_path_factory.mktemp("site"))


def test_every_public_name_has_a_place_in_the_reference(site: Path) -> None:
    pages = [path.read_text() for path in sorted((site / "reference").rglob("*.html"))]
    ids = {name for page in pages for name in re.findall(r'id="(mooring\.[\w.]+)"', page)}
    public = {f"mooring.{name}" for name in mooring.__all__} - {
        "mooring.main",
        "mooring.__version__",
    }
    public |= {f"mooring.testing.{name}" for name in mooring.testing.__all__}
    assert public - ids == set()


def test_a_comment_of_an_attribute_is_its_description(site: Path) -> None:
    page = Text((site / "reference" / "status" / "index.html").read_text()).text
    assert "Seconds to wait, with code WAIT." in page


def test_blocks_that_tests_mark_are_shown_as_consoles(site: Path) -> None:
    page = (site / "first-plugin" / "index.html").read_text()
    assert "console kubectl" not in Text(page).text
    assert page.count(">$ <") + page.count("$ mooring") >= 3


def test_a_link_to_a_page_outside_docs_leads_to_its_page(site: Path) -> None:
    page = (site / "operations" / "index.html").read_text()
    assert 'href="../deploy/"' in page
    assert "<code>deploy/manifests/mooring.yaml</code>" in page


def test_every_picture_is_on_its_page(site: Path) -> None:
    sources = pages_with_pictures()
    assert sum(sources.values()) >= 7
    for page, number in sources.items():
        html = (site / page).read_text()
        pictures = Pictures(html).sources
        assert (page, len(pictures)) == (page, number)
        for source in pictures:
            assert ((site / page).parent / source).resolve().is_file(), (page, source)
        # The text of a picture that has become a link begins with its exclamation mark.
        assert "!<a" not in html and ".svg</code>" not in html and ".png</code>" not in html


def test_a_picture_that_the_site_does_not_hold_keeps_its_address() -> None:
    page = SimpleNamespace(file=SimpleNamespace(src_uri="ui.md"))
    markdown = "![A logo](../deploy/logo.png) and [a file](../deploy/logo.png)"
    assert hooks.on_page_markdown(markdown, cast(Page, page)) == (
        "![A logo](../deploy/logo.png) and a file (`deploy/logo.png`)"
    )


def test_every_command_is_described() -> None:
    page = commands.commands_page()
    for command in ("up", "down", "run", "schedule", "manifests", "new-plugin"):
        assert f"\n## mooring {command}\n" in page
    assert "--kubeconfig" in page


def test_every_flag_is_described() -> None:
    page = commands.flags_page()
    for group in ALL:
        for flag in group.flags:
            assert f"| `--{flag.name}` |" in page


def test_every_metric_is_described() -> None:
    page = metrics.page()
    for family in Metrics().maker.families:
        assert f"| `{family.name}` | {family.kind} |" in page


def test_every_field_of_the_file_is_described() -> None:
    page = config_fields.page()
    assert "| `leaderElect` | boolean | `true` |" in page
    assert "| `podMaxBackoffSeconds` | integer | `10` |" in page
    assert "### NodeResourcesFitArgs" in page
    assert [row for row in page.splitlines() if row.endswith("|  |")] == []


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["#: A number.", "x: int"], "A number."),
        (["#: Two", "#: lines.", "x: int"], "Two lines."),
        (["x: int  #: Behind."], "Behind."),
        (["# not a description", "x: int"], ""),
    ],
    ids=["one line above", "two lines above", "on the same line", "an ordinary comment"],
)
def test_descriptions_are_read(lines: list[str], expected: str) -> None:
    assert attribute_comments.described(lines, len(lines) - 1) == expected
