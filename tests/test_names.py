"""Names of the package: no two public classes share one."""

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
