"""Reports as one HTML file."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest

from mooring.replay.report_page import own_history_page, replay_page
from tests.replay.reports import (
    HOSTILE,
    compared_report,
    deviating_report,
    own_report,
    shadow_report,
)


class Elements(HTMLParser):
    """The elements of a page, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        names = dict(attrs)
        assert not {"src", "href", "onerror", "onclick"} & names.keys()

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.mark.parametrize(
    "page",
    [
        replay_page(deviating_report()),
        replay_page(compared_report()),
        own_history_page(own_report()),
    ],
    ids=["deviations", "comparisons", "histories"],
)
def test_what_a_cluster_says_stays_text(page: str) -> None:
    found = Elements(page)
    assert HOSTILE in found.text
    assert not found.tags & {"img", "script", "link", "iframe"}
    assert "default-src 'none'" in page


def test_the_page_holds_what_was_found() -> None:
    text = Elements(replay_page(compared_report())).text
    for part in ("another node", "pending instead", "scheduled instead", "shop/1", "+12"):
        assert part in text
    assert "NodeResourcesFit" in Elements(replay_page(deviating_report())).text


def test_the_agreement_of_a_shadow() -> None:
    page = replay_page(shadow_report(other_rules=True))
    assert (
        "<p>the other scheduler: 1 of 1 decided alike (100.0%), 0 points lost, by other.yaml</p>"
        in page
    )
    assert "<p>1  other node → agreed</p>" in page
