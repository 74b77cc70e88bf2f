"""Reading the manifests that a command line names."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from mooring.cli.manifest_files import read_files
from mooring.errors import ObjectError

NODE = "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\n"
POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: a%s}\nspec: {containers: [{name: c}]%s}\n"


def pod(metadata: str = "", spec: str = "") -> str:
    return POD % (metadata, spec)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(name: str, text: str) -> str:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return name


def test_a_folder_is_its_manifests_by_name() -> None:
    write("d/b.yaml", NODE)
    write("d/a.yml", pod())
    write("d/c.json", '{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "x"}}')
    write("d/readme.txt", "no manifest")
    write("d/below/d.yaml", "not read")
    assert [obj.name for obj in read_files(["d"]).objects] == ["a", "n1", "x"]


def test_the_configuration_of_the_scheduler_may_lie_in_the_folder() -> None:
    write("d/a.yaml", NODE)
    config = write("d/config.yaml", "apiVersion: kubescheduler.config.k8s.io/v1\n")
    assert [obj.name for obj in read_files(["d"], config=config).objects] == ["n1"]


def test_standard_input_and_a_byte_order_mark(monkeypatch: pytest.MonkeyPatch) -> None:
    stdin = io.TextIOWrapper(io.BytesIO(b"\xef\xbb\xbf" + NODE.encode()))
    monkeypatch.setattr("sys.stdin", stdin)
    assert [obj.name for obj in read_files(["-"]).objects] == ["n1"]


def test_the_later_of_two_counts() -> None:
    first = write("a.yaml", pod())
    second = write("b.yaml", pod(", namespace: default", ", priority: 7"))
    manifests = read_files([first, second])
    assert [obj.spec.priority for obj in manifests.objects] == [7]
    assert manifests.warnings == [
        "b.yaml:1: document 1: Pod default/a replaces the one of a.yaml:1: document 1"
    ]


def test_objects_that_are_still_to_be_named_do_not_replace_each_other() -> None:
    text = (
        "apiVersion: v1\nkind: Pod\nmetadata: {generateName: a-}\nspec: {containers: [{name: c}]}\n"
    )
    manifests = read_files([write("a.yaml", f"{text}---\n{text}")])
    assert len({obj.name for obj in manifests.objects}) == 2
    assert manifests.warnings == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param(
            f"{NODE}---\n{pod('', ', priorityClassName: x')}",
            "f.yaml:5: document 2: spec.priorityClassName: Pod default/a: "
            "no PriorityClass with name x was found",
            id="an unknown priority class",
        ),
        pytest.param(
            f"apiVersion: v1\nkind: List\nitems:\n- {pod('', ', nodeName: 3')}".replace(
                "\n", "\n  "
            )
            .replace("\n  kind: List", "\nkind: List")
            .replace("\n  items", "\nitems")
            .replace("\n  - ", "\n- "),
            "f.yaml:7: document 1: items[0].spec.nodeName: Pod: expected text",
            id="a field of the wrong type in a list",
        ),
        pytest.param(
            pod(", creationTimestamp: yesterday"),
            "f.yaml:1: document 1: metadata.creationTimestamp: time must look like",
            id="a time that is none",
        ),
        pytest.param(
            f"{pod(', uid: u')}---\n{pod(', uid: u, namespace: other')}",
            "f.yaml:6: document 2: metadata.uid: Pod other/a has the uid of Pod default/a",
            id="two pods with one uid",
        ),
    ],
)
def test_a_bad_manifest_is_answered_with_file_document_and_path(text: str, message: str) -> None:
    with pytest.raises(ObjectError) as caught:
        read_files([write("f.yaml", text)])
    assert str(caught.value).startswith(message)


def test_files_that_cannot_be_read(folder: Path) -> None:
    with pytest.raises(ObjectError, match=r"^absent\.yaml: No such file"):
        read_files(["absent.yaml"])
    (folder / "empty").mkdir()
    with pytest.raises(ObjectError, match="empty: the folder holds no"):
        read_files(["empty"])
    (folder / "binary.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ObjectError, match=r"^binary\.yaml: not UTF-8 text"):
        read_files(["binary.yaml"])
