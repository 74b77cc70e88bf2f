"""Which plugins of a journal are loaded, and from where."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from mooring.errors import JournalError
from mooring.explain.scheduler_rules import RecordedPlugin
from mooring.journal.head import describe_plugin
from mooring.registry import load_plugin
from mooring.replay.recorded_plugins import (
    is_recorded,
    missing_plugins,
    trust_all,
    trust_none,
    usable_plugins,
)
from tests.journal.journals import simple_head
from tests.replay.test_replay_rules import SOURCE


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(SOURCE)
    return path


@pytest.fixture
def mine(source: Path) -> RecordedPlugin:
    return describe_plugin(load_plugin(f"{source}:Mine"))


def test_plugins_of_mooring_are_not_loaded_from_files(mine: RecordedPlugin) -> None:
    own = replace(mine, reference="mooring.plugins.node_name:NodeName")
    assert missing_plugins([own], (), trust_none) == []


def test_a_file_is_loaded_if_it_is_trusted(mine: RecordedPlugin) -> None:
    (found,) = missing_plugins([mine], (), trust_all)
    assert describe_plugin(found) == mine
    assert [one.name for one in missing_plugins([mine], (), {mine}.__contains__)] == ["Mine"]
    with pytest.raises(JournalError, match="because a journal is data"):
        missing_plugins([mine], (), {replace(mine, sha256="0")}.__contains__)


def test_a_plugin_that_the_caller_has_must_have_the_recorded_content(
    mine: RecordedPlugin, source: Path
) -> None:
    plugin = load_plugin(f"{source}:Mine")
    assert missing_plugins([mine], [plugin], trust_none) == []
    source.write_text(SOURCE.replace("1", "2"))
    with pytest.raises(JournalError, match="has changed since"):
        missing_plugins([mine], [plugin], trust_none)


def test_what_cannot_be_loaded_is_left_out_if_it_may_not_be_needed(mine: RecordedPlugin) -> None:
    gone = replace(mine, name="Gone", file="/nowhere/gone.py")
    assert usable_plugins([gone, mine], (), trust_none) == []
    assert [one.name for one in usable_plugins([gone, mine], (), trust_all)] == ["Mine"]


def test_a_special_file_is_not_read(mine: RecordedPlugin, tmp_path: Path) -> None:
    fifo = tmp_path / "fifo.py"
    os.mkfifo(fifo)
    with pytest.raises(JournalError, match="is no longer there"):
        missing_plugins([replace(mine, file=str(fifo))], (), trust_all)


def test_a_copy_of_the_recorded_file_is_the_recorded_plugin(
    mine: RecordedPlugin, tmp_path: Path
) -> None:
    head = replace(simple_head(), plugins=(mine,))
    copy = tmp_path / "copy.py"
    copy.write_text(SOURCE)
    assert is_recorded(head, load_plugin(f"{copy}:Mine"))
    copy.write_text(SOURCE + "\n")
    assert not is_recorded(head, load_plugin(f"{copy}:Mine"))
    unknown = replace(head, plugins=(replace(mine, sha256=""),))
    assert not is_recorded(unknown, load_plugin(f"{copy}:Mine"))
