"""The pictures show the output of the commands, and the page."""

from __future__ import annotations

import xml.etree.ElementTree

import pytest

from tools import screenshots


def test_the_picture_of_a_schedule_is_what_the_command_prints() -> None:
    drawn = screenshots.draw(screenshots.run(screenshots.PICTURES["schedule.svg"]))
    assert drawn == (screenshots.IMAGES / "schedule.svg").read_text()


@pytest.mark.parametrize("name", screenshots.PICTURES)
def test_a_picture_shows_its_commands(name: str) -> None:
    picture = (screenshots.IMAGES / name).read_text()
    xml.etree.ElementTree.fromstring(picture)
    shown = [line for line in screenshots.text_of(picture) if line.startswith("$ ")]
    assert shown == [f"$ {text}" for text, is_shown in screenshots.PICTURES[name] if is_shown]


def test_characters_of_markup_are_text() -> None:
    picture = screenshots.draw([("$ echo '<b>&'", True), ("<b>&", False)])
    assert screenshots.text_of(picture) == ["$ echo '<b>&'", "<b>&"]
    assert "<b>" not in picture


def test_the_pictures_of_the_page_are_there() -> None:
    for name, (_, _, height) in screenshots.PAGE_PICTURES.items():
        data = (screenshots.IMAGES / name).read_bytes()
        assert data.startswith(b"\x89PNG")
        assert int.from_bytes(data[20:24], "big") == height
        assert len(data) < 200_000


def test_a_picture_that_does_not_exist() -> None:
    with pytest.raises(SystemExit, match=r"there is no picture nope\.svg"):
        screenshots.main(["nope.svg"])
