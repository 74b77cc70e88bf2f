"""The reader of Go types behind the table of API types."""

from __future__ import annotations

from pathlib import Path

from tools.schemas import Package, reachable, read_package, render_type

GO = """
package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

type Mode string

// +protobuf.nullable=true
type Extra []string

type Empty struct{}

// Thing is a kind. `json:"no"`
type Thing struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Old string `json:"old"`
	Count *int32 `json:"count,omitempty" protobuf:"varint,2,opt,name=count"`
	Mode Mode `json:"mode" protobuf:"bytes,3,opt,name=mode"`
	Source `json:",inline" protobuf:"bytes,4,opt,name=source"`
	Extras map[string]Extra `json:"extras,omitempty" protobuf:"bytes,5,rep,name=extras"`
	Until metav1.Time `json:"until,omitzero" protobuf:"bytes,6,opt,name=until"`
	Hidden string `json:"-"`
}

type Source struct {
	Data []byte `json:"data,omitempty" protobuf:"bytes,1,opt,name=data"`
	Empty *Empty `json:"empty,omitempty" protobuf:"bytes,2,opt,name=empty"`
}

type Unused struct {
	Name string `json:"name"`
}
"""


PLAIN = ("kind", "apiVersion", "metadata", "count", "extras", "until", "data", "empty")


def package(folder: Path) -> Package:
    (folder / "types.go").write_text(GO)
    (folder / "zz_generated.go").write_text("type Wrong struct {\n}\n")
    return read_package("things.v1", folder, "io.k8s.api.things.v1")


def test_fields_kinds_numbers_and_what_is_always_written(tmp_path: Path) -> None:
    found = package(tmp_path)
    lines = render_type(found, "Thing", None, {"things.v1": found})
    assert lines == [
        "Thing",
        " kind string 0",
        " apiVersion string 0",
        " metadata meta.v1.ObjectMeta 1 +",
        " count *int32 2",
        " mode string 3 +",
        " ~ Source 4",
        " extras {}Extra 5",
        " until time 6",
    ]
    assert render_type(found, "Extra", None, {"things.v1": found}) == [
        "Extra wrapped",
        " items []string 1 +",
    ]


def test_what_openapi_says_is_added(tmp_path: Path) -> None:
    found = package(tmp_path)
    schema = {
        "required": ["mode"],
        "properties": {
            **{name: {} for name in PLAIN},
            "mode": {"default": "On", "x-kubernetes-list-type": "atomic"},
        },
    }
    lines = render_type(found, "Thing", schema, {"things.v1": found})
    assert ' mode string 3 +! list=atomic default="On"' in lines


def test_only_what_is_referred_to_is_kept(tmp_path: Path) -> None:
    found = package(tmp_path)
    found.structs["Thing"] = [one for one in found.structs["Thing"] if one.name != "metadata"]
    assert reachable({"things.v1": found}, [("things.v1", "Thing")]) == {
        ("things.v1", "Thing"),
        ("things.v1", "Source"),
        ("things.v1", "Extra"),
        ("things.v1", "Empty"),
    }
