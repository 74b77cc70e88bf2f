"""The table of feature gates matches what the tool reads from the published modules."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from mooring.framework import feature_table, feature_table_1_36
from tools import features

ROOT = Path(__file__).resolve().parents[2]

SOURCE = """
const (
	// owner: @someone
	First featuregate.Feature = "First"
	Renamed featuregate.Feature = "CustomName"
	Locked featuregate.Feature = "Locked"
	Later featuregate.Feature = "Later"
	Careful featuregate.Feature = "Careful"
)

var defaultVersionedKubernetesFeatureGates = map[featuregate.Feature]featuregate.VersionedSpecs{
	First: {
		{Version: version.MustParse("1.30"), Default: false, PreRelease: featuregate.Alpha},
		{Version: version.MustParse("1.36"), Default: true, PreRelease: featuregate.Beta}, // why
		{Version: version.MustParse("1.37"), Default: true, PreRelease: featuregate.GA},
	},

	Renamed: {
		// see elsewhere
		{Version: version.MustParse("1.12"), Default: false, PreRelease: featuregate.Alpha},
	},

	other.Locked: {
		{Version: version.MustParse("1.35"), Default: false, PreRelease: featuregate.Deprecated, LockToDefault: true},
	},

	Later: {
		{Version: version.MustParse("1.37"), Default: false, PreRelease: featuregate.Alpha},
	},

	Careful: {
		{Version: version.MustParse("1.36"), Default: false, PreRelease: featuregate.Beta},
		{Version: version.MustParse("1.36"), Default: true, PreRelease: featuregate.Beta, MinCompatibilityVersion: version.MustParse("1.36")},
	},
}

var defaultKubernetesFeatureGateDependencies = map[featuregate.Feature][]featuregate.Feature{
	First: {featuregate.Feature(other.Locked), Renamed}, // Later is indirect.

	Renamed: {},
}
"""  # noqa: E501


def test_gates_are_read_at_the_release() -> None:
    gates = features.read_gates(SOURCE, (1, 36), (1, 35))
    assert gates == {
        "First": ("BETA", True, False),
        "CustomName": ("ALPHA", False, False),
        "Locked": ("DEPRECATED", False, True),
        "Careful": ("BETA", False, False),
    }
    assert features.read_gates(SOURCE, (1, 37), (1, 36)) == {
        **gates,
        "First": ("GA", True, False),
        "Later": ("ALPHA", False, False),
        "Careful": ("BETA", True, False),
    }
    assert features.read_dependencies(SOURCE) == {"First": ("Locked", "Renamed"), "Renamed": ()}


def test_a_row_that_needs_a_compatible_control_plane_is_in_a_table_of_its_own() -> None:
    found: dict[str, Any] = {}
    exec(features.make_table("1.36.4", [SOURCE]), found)
    assert ("Careful", "BETA", False, False, ()) in found["ROWS"]
    assert found["COMPATIBLE_ROWS"] == (("Careful", "BETA", True, False, ()),)


@pytest.mark.parametrize(
    ("release", "table"), [("1.36.4", feature_table_1_36), ("1.37.1", feature_table)]
)
def test_the_committed_table_is_what_the_modules_say(release: str, table: ModuleType) -> None:
    if shutil.which("go") is None:
        pytest.skip("needs Go and its module cache")
    cache = Path(subprocess.check_output(["go", "env", "GOMODCACHE"], text=True).strip())
    absent = [source for source in features.sources(release) if not (cache / source).exists()]
    if absent:
        pytest.skip(f"needs the module file {absent[0]}: go mod download")
    tool = ROOT / "tools" / "features.py"
    text = subprocess.check_output([sys.executable, tool, release, cache], text=True)
    assert table.__file__ is not None
    assert text == Path(table.__file__).read_text(encoding="utf-8")
