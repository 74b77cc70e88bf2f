"""The reader of the scheduler-plugins family behind the table of what its plugins had."""

from __future__ import annotations

from pathlib import Path

from tools.family_schema import Plugins, merge

MAIN = """
package main

import (
	"sigs.k8s.io/scheduler-plugins/pkg/gang"
	"sigs.k8s.io/scheduler-plugins/pkg/load/packing"
)

func main() {
	app.NewSchedulerCommand(
		app.WithPlugin(gang.Name, gang.New),
		app.WithPlugin(packing.PackingName, packing.New),
		// app.WithPlugin(rest.Name, rest.New),
	)
}
"""
GANG = """
package gang

const (
	// Name = "Other"
	Name = "Gang"
)

func (g *Gang) Name() string { return Name }
func (g *Gang) Less(a, b *QueuedPodInfo) bool { return true }
func (*Gang) PostBind(pod *v1.Pod) {}
func (g *Gang) helper() {}
func (s *state) Filter(pod *v1.Pod) {}
"""
OTHER = """
package other

const {name} = "{plugin}"

func (p *T) Name() string {{ return {name} }}
func (p *T) Score(pod *v1.Pod) int64 {{ return 0 }}
"""
TYPES = """
type GangArgs struct {
	metav1.TypeMeta `json:",inline"`
	WaitSeconds *int64 `json:"waitSeconds,omitempty"`
	KubeConfigPath *string `json:"kubeconfigpath,omitempty"`
}

type PackingArgs api.DefaultPreemptionArgs
"""
DEFAULTS = """
var wait int64 = 60

func SetDefaults_GangArgs(obj *GangArgs) {
	if obj.WaitSeconds == nil {
		obj.WaitSeconds = &wait
	}
	if len(obj.KubeConfigPath) == 0 {
		obj.KubeConfigPath = "/etc/config"
	}
}
"""


def write_release(folder: Path, config: str, gang: str, defaults: str = DEFAULTS) -> Path:
    files = {
        "cmd/scheduler/main.go": MAIN,
        "pkg/gang/gang.go": gang,
        "pkg/gang/gang_test.go": "func (g *Gang) Permit() {}",
        "pkg/load/packing/packing.go": OTHER.format(name="PackingName", plugin="Packing"),
        "pkg/rest/rest.go": OTHER.format(name="Name", plugin="Rest"),
        f"{config}/types.go": "",
        f"{config}/v1beta2/types.go": TYPES,
        f"{config}/v1beta2/defaults.go": defaults,
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def test_points_and_arguments_of_all_releases_of_a_version_are_merged(tmp_path: Path) -> None:
    table: dict[str, Plugins] = {}
    old = write_release(tmp_path / "old", "pkg/apis/config", GANG)
    later = GANG.replace("PostBind", "Permit")
    new = write_release(tmp_path / "new", "apis/config", later, DEFAULTS.replace("60", "30"))
    for release in (old, new):
        merge(table, release, "v1beta2")
        merge(table, release, "v1beta3")
    assert table == {
        "v1beta2": {
            "Gang": (
                ["queueSort", "permit", "postBind"],
                {"waitSeconds": 30, "kubeconfigpath": "/etc/config"},
            ),
            "Packing": (
                ["score"],
                {"minCandidateNodesPercentage": None, "minCandidateNodesAbsolute": None},
            ),
            "Rest": (["score"], {}),
        }
    }
