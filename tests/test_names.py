"""Names of the package: no two public classes, and no two modules, share one."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "src" / "mooring"

#: Names that Kubernetes gives to two things, and the same part of two plugins.
SHARED = {"Extender", "FilterState", "NodeAffinity", "ScoreState"}


def public_classes() -> dict[str, list[str]]:
    """Return the files that define a public class, by the name of the class."""
    found: dict[str, list[str]] = defaultdict(list)
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].append(path.relative_to(PACKAGE).as_posix())
    return found


def test_no_two_public_classes_share_a_name() -> None:
    shared = {name: files for name, files in public_classes().items() if len(files) > 1}
    assert {name: files for name, files in shared.items() if name not in SHARED} == {}
    assert set(shared) == SHARED, "remove names from SHARED that are no longer shared"


#: Folders whose files are named after what they are about: a command, the kinds of an API group.
BY_SUBJECT = ("cli", "apiserver/defaults", "apiserver/printing", "apiserver/validation")
#: Parts that plugins have in common, and the steps of a cycle that call them.
PARTS = {"args", "filtering", "hints", "plugin", "scoring"}
#: The types of a language, and those of a file.
SHARED_MODULES = {"types"}


def shared_modules() -> dict[str, list[str]]:
    """Return the modules that share a name, by that name."""
    found: dict[str, list[str]] = defaultdict(list)
    for path in sorted(PACKAGE.rglob("*.py")):
        folder = path.parent.relative_to(PACKAGE).as_posix()
        if not path.stem.startswith("__") and folder not in BY_SUBJECT and path.stem not in PARTS:
            found[path.stem].append(path.relative_to(PACKAGE).as_posix())
    return {name: files for name, files in found.items() if len(files) > 1}


def test_no_two_modules_share_a_name() -> None:
    shared = shared_modules()
    assert {name: files for name, files in shared.items() if name not in SHARED_MODULES} == {}
    assert set(shared) == SHARED_MODULES, "remove names from SHARED_MODULES that are not shared"
