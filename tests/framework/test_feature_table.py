"""The table of feature gates equals what the tool reads from the published modules."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from mooring.framework import feature_table
from tools import features

ROOT = Path(__file__).resolve().parents[2]

SOURCE = """
const (
	// owner: @someone
	First featuregate.Feature = "First"
	Renamed featuregate.Feature = "CustomName"
	Locked featuregate.Feature = "Locked"
	Later featuregate.Feature = "Later"
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
}

var defaultKubernetesFeatureGateDependencies = map[featuregate.Feature][]featuregate.Feature{
	First: {featuregate.Feature(other.Locked), Renamed}, // Later is indirect.

	Renamed: {},
}
"""  # noqa: E501


def test_gates_are_read_at_the_release() -> None:
    assert features.read_gates(SOURCE) == {
        "First": ("BETA", True, False),
        "CustomName": ("ALPHA", False, False),
        "Locked": ("DEPRECATED", False, True),
    }
    assert features.read_dependencies(SOURCE) == {"First": ("Locked", "Renamed"), "Renamed": ()}


def test_the_committed_table_is_what_the_modules_say() -> None:
    if shutil.which("go") is None:
        pytest.skip("needs Go and its module cache")
    cache = Path(subprocess.check_output(["go", "env", "GOMODCACHE"], text=True).strip())
    absent = [source for source in features.SOURCES if not (cache / source).exists()]
    if absent:
        pytest.skip(f"needs the module file {absent[0]}: go mod download")
    tool = ROOT / "tools" / "features.py"
    text = subprocess.check_output([sys.executable, tool, cache], text=True)
    assert text == Path(feature_table.__file__).read_text(encoding="utf-8")
