"""`mooring explain --journal`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from mooring.cli.main import main
from tests.replay.recordings import (
    JOURNAL_0_2_0,
    TREES,
    journaled,
    refuse_tree,
    schedule_some,
    schedule_tree,
    write_config,
)
from tests.replay.test_replaying import MOST_ALLOCATED


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    folder = tmp_path / "journal"
    journaled(folder, schedule_some)
    return folder


def test_a_pod_that_is_gone(journal: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "web-1", "--journal", str(journal)]) == 0
    text = capsys.readouterr().out
    assert text.startswith("default/web-1, attempt 1 at 2027-01-15T08:00:00Z, from the journal, ")
    assert "Chosen: big: the highest total" in text
    assert "otherwise" not in text


def test_an_attempt(journal: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["explain", "pod/huge", "-n", "default", "--journal", str(journal), "--attempt", "1"]
    assert main([*command, "-o", "json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["attempt"], data["attempts"]) == (1, [1, 2])
    assert data["message"] == data["recorded"]["message"]
    assert data["recorded"]["refusingPlugins"] == ["NodeResourcesFit"]
    assert main([*command, "-o", "yaml"]) == 0
    assert yaml.safe_load(capsys.readouterr().out) == data


def test_other_rules(journal: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = str(write_config(tmp_path, MOST_ALLOCATED))
    assert main(["explain", "default/web-1", "--journal", str(journal), "--config", config]) == 0
    text = capsys.readouterr().out
    assert f"by {config}:" in text
    assert "the journal says otherwise: big" in text
    assert "Chosen: small" in text


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nobody"], 'no attempt of a pod "nobody"'),
        (["huge", "--attempt", "7"], "no attempt 7"),
    ],
)
def test_what_the_journal_does_not_hold(
    journal: Path, arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", *arguments, "--journal", str(journal)]) == 1
    assert words in capsys.readouterr().err


@pytest.mark.parametrize("text", ["0", "first"])
def test_a_number_that_makes_no_sense(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["explain", "web", "--journal", "x", "--attempt", text])
    assert "is not a whole number above 0" in capsys.readouterr().err


def test_a_pod_of_a_tree_is_explained_with_its_tree(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    journaled(tmp_path, schedule_tree, gates=TREES)
    command = ["explain", "workers-1", "--journal", str(tmp_path)]
    assert main(command) == 0
    text = capsys.readouterr().out
    assert "otherwise" not in text
    assert "\nThis attempt of composite pod group default/job:\nGROUP      NEEDS  PLACED " in text
    assert "\n  workers  2      2 of 2 pods    all nodes  fits\n" in text
    assert main([*command, "-o", "json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert [(one["depth"], one["name"]) for one in data["tree"]] == [
        (0, "job"),
        (1, "leader"),
        (1, "workers"),
    ]


@pytest.mark.parametrize(
    ("pod", "texts"),
    [
        pytest.param("trainer", ["DynamicResources node-2", "Chosen: node-1"], id="a device"),
        pytest.param("waits-for-device", ["3 cannot allocate all claims"], id="no device"),
        pytest.param("gang-1", ["Chosen: node-3: the highest total, 435"], id="a gang that fits"),
        pytest.param("large-0", ["cpu 1500m short (asks 3, 1500m free)"], id="a gang that waits"),
        pytest.param(
            "after-reload",
            ["26 more than node-3 (NodeResourcesFit +25)"],
            id="scored by the reloaded configuration",
        ),
        pytest.param("urgent", ["attempt 2", "Chosen: node-2"], id="after a preemption"),
    ],
)
def test_journal_of_0_2_0_is_explained(
    pod: str, texts: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", pod, "--journal", str(JOURNAL_0_2_0)]) == 0
    shown = capsys.readouterr()
    # COLUMNS may break lines.
    out = " ".join(shown.out.split())
    assert (shown.err, "otherwise" in out) == ("", False)
    assert [text for text in texts if text not in out] == []


def test_a_pod_without_a_group_has_no_tree(
    journal: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", "web-1", "--journal", str(journal), "-o", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["tree"] == []


def test_a_trial_says_that_it_is_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    journaled(tmp_path, refuse_tree, gates=TREES)
    for name, is_trial in (("leader-0", False), ("workers-0", True)):
        command = ["explain", name, "--journal", str(tmp_path)]
        assert main(command) == 0
        text = " ".join(capsys.readouterr().out.split())
        assert ("the pod's group was refused before the pod was tried; this is" in text) == is_trial
        assert main([*command, "-o", "json"]) == 0
        assert json.loads(capsys.readouterr().out)["trial"] == is_trial
