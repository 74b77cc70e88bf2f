"""Plugins of more than one file: what they import, and what is loaded again."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mooring.errors import ConfigError, PluginError
from mooring.framework.plugin_modules import PluginFolder, is_installed, plugin_folders
from mooring.registry import Registry, load_plugin, load_plugins, loaded_files

PLUGIN = """from mooring import Plugin
from rules import RULE


class {cls}(Plugin):
    rule = RULE

    def filter(self, state, pod, node):
        import later

        return later.ANSWER
"""

# A plugin that imports another one of its folder.
SECOND = (
    PLUGIN.format(cls="Two")
    .replace("    rule", "    one = One\n    rule")
    .replace("from rules", "from one import One\nfrom rules")
)


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    """Hide the plugins that other tests have loaded, and forget those that a test loads."""
    others = {name: one for folder in plugin_folders() for name, one in folder.modules().items()}
    finders = sys.meta_path[:]
    sys.meta_path[:] = [one for one in finders if not isinstance(one, PluginFolder)]
    for name in others:
        del sys.modules[name]
    modules = set(sys.modules)
    yield
    for name in set(sys.modules) - modules:
        del sys.modules[name]
    sys.modules.update(others)
    sys.meta_path[:] = finders


def write(folder: Path, rule: str, cls: str = "Mine", name: str = "plug.py") -> Path:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(PLUGIN.format(cls=cls))
    (folder / "rules.py").write_text(f"RULE = {rule!r}\n")
    (folder / "later.py").write_text(f"ANSWER = {rule!r}\n")
    return folder / name


def test_a_plugin_imports_the_files_beside_it(tmp_path: Path) -> None:
    plugin = load_plugin(f"{write(tmp_path / 'a', 'one')}:Mine")
    assert plugin.rule == "one"
    assert plugin().filter(None, None, None) == "one", "an import inside of a function"
    assert plugin.__module__ == "plug"
    assert sys.meta_path[0] is not plugin_folders()[0], "other imports do not look there first"


def test_a_module_of_the_current_folder_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, "here")
    monkeypatch.chdir(tmp_path)
    assert load_plugin("plug:Mine").rule == "here"
    assert {file.name for file in loaded_files(["plug:Mine"])} == {"plug.py", "rules.py"}
    package = tmp_path / "family"
    write(package, "package", name="member.py")
    (package / "member.py").write_text(PLUGIN.format(cls="Mine").replace("rules", "family.rules"))
    (package / "__init__.py").touch()
    assert load_plugin("family.member:Mine").rule == "package"


def test_plugins_of_two_folders_import_modules_of_the_same_name(tmp_path: Path) -> None:
    files = [write(tmp_path / folder, folder, cls=folder.upper()) for folder in ("a", "b")]
    first, second = load_plugins([f"{files[0]}:A", f"{files[1]}:B"])
    assert (first.rule, second.rule) == ("a", "b")
    assert (first.__module__, second.__module__) == ("plug", f"plug@{files[1]}")
    assert sys.modules[second.__module__].B is second


def test_plugins_of_one_folder_share_what_they_import(tmp_path: Path) -> None:
    one = write(tmp_path, "x", cls="One", name="one.py")
    (tmp_path / "rules.py").write_text("RULE = []\n")
    two = tmp_path / "two.py"
    two.write_text(SECOND)
    first, second = load_plugins([f"{one}:One", f"{two}:Two"])
    assert first.rule is second.rule
    assert second.one is first


def test_plugins_of_one_folder_share_modules_whose_names_another_folder_has(
    tmp_path: Path,
) -> None:
    others = load_plugins(
        [
            f"{write(tmp_path / 'other', 'other', cls='Other', name=name)}:Other"
            for name in ("one.py", "two.py")
        ]
    )
    one = write(tmp_path / "mine", "x", cls="One", name="one.py")
    (tmp_path / "mine" / "rules.py").write_text("RULE = []\n")
    two = tmp_path / "mine" / "two.py"
    two.write_text(SECOND)
    first, second = load_plugins([f"{one}:One", f"{two}:Two"])
    assert first.rule is second.rule
    assert second.one is first
    assert sys.modules["rules"].RULE == "other", "the first folder keeps the name"
    assert [plugin.rule for plugin in others] == ["other", "other"]
    (tmp_path / "mine" / "rules.py").write_text("RULE = {}\n")
    first, second = load_plugins([f"{one}:One", f"{two}:Two"])
    assert first.rule is second.rule == {}, "hidden modules are loaded again, too"


def test_what_a_plugin_imported_is_loaded_again(tmp_path: Path) -> None:
    file = write(tmp_path, "old")
    reference = f"{file}:Mine"
    load_plugin(reference)
    assert loaded_files([reference]) == [file, tmp_path / "rules.py"]
    (tmp_path / "rules.py").write_text("RULE = 'new'\n")
    assert load_plugin(reference).rule == "new"


def test_what_does_not_load_changes_nothing_and_is_watched(tmp_path: Path) -> None:
    file = write(tmp_path, "old")
    reference = f"{file}:Mine"
    plugin = load_plugin(reference)
    extra = tmp_path / "extra.py"
    extra.write_text("def broken(:\n")
    file.write_text("import extra\n" + file.read_text())
    with pytest.raises(ConfigError) as refused:
        load_plugin(reference)
    assert str(refused.value) == f"{extra}:1:12: invalid syntax"
    assert sys.modules["plug"].Mine is plugin
    assert "extra" not in sys.modules
    assert set(loaded_files([reference])) == {file, extra, tmp_path / "rules.py"}


@pytest.mark.parametrize("name", ["random.py", "msgspec.py"])
def test_a_file_never_replaces_a_module_that_others_use(tmp_path: Path, name: str) -> None:
    (tmp_path / "json.py").write_text("1 / 0")
    file = write(tmp_path, "x", name=name)
    file.write_text("import json\n" + file.read_text())
    before = sys.modules[file.stem]
    assert load_plugin(f"{file}:Mine").__module__ == f"{file.stem}@{file}"
    assert sys.modules[file.stem] is before


def test_messages_use_the_names_of_the_author(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("from mooring import Plugin\n\nclass Mine(Plugin):\n    def filer(self): ...\n")
    for folder in (tmp_path, tmp_path / "other"):
        folder.mkdir(exist_ok=True)
        (folder / "mine.py").write_text(file.read_text())
        with pytest.raises(PluginError, match=r": mine\.Mine has a method `filer`"):
            Registry([load_plugin(f"{folder}/mine.py:Mine")])


def test_installed_modules_are_not_a_plugins_own() -> None:
    load_plugin("mooring.contrib.samples:Sample")
    assert is_installed("mooring.contrib.samples")
    assert loaded_files(["mooring.contrib.samples:Sample"]) == []


def test_a_folder_offers_only_its_own_modules(tmp_path: Path) -> None:
    (tmp_path / "rules.py").touch()
    folder = PluginFolder(tmp_path)
    assert folder.find_spec("rules").origin == str(tmp_path / "rules.py")
    assert folder.find_spec("other") is None
    assert folder.find_spec("mooring.rules", ["/elsewhere"]) is None
