"""The reader of Go types behind the table of older versions' fields."""

from __future__ import annotations

from tools.config_schema import reachable, read_types

GO = """
type Mode string

// Root is a document. Not a field: Old string `json:"old"`
type Root struct {
	metav1.TypeMeta `json:",inline"`
	Shared `json:",inline"`

	// Old string `json:"old"`
	Name *string `json:"name,omitempty"`
	Mode Mode `json:"mode"`
	Items []Item `json:"items"`
	Timeout metav1.Duration `json:"timeout"`
	Wait time.Duration `json:"wait"`
	Data []byte `json:"data"`
	Affinity *corev1.NodeAffinity `json:"affinity"`
	Raw runtime.RawExtension `json:"raw"`
}

type Shared struct {
	Debug *bool `json:"debug"`
}

type Item struct {
	Weight int32 `json:"weight"`
}

type Unused struct {
	Weight int32 `json:"weight"`
}
"""


def test_every_kind_of_field_is_read() -> None:
    assert read_types([GO])["Root"] == {
        "kind": "string",
        "apiVersion": "string",
        "debug": "bool",
        "name": "string",
        "mode": "string",
        "items": "[]Item",
        "timeout": "duration",
        "wait": "nanoseconds",
        "data": "bytes",
        "affinity": "object",
        "raw": "any",
    }


def test_only_what_the_root_leads_to_is_kept() -> None:
    assert reachable(read_types([GO]), ["Root"]) == ["Root", "Item"]


def test_a_type_of_an_earlier_text_wins() -> None:
    other = 'type Item struct {\n\tOther string `json:"other"`\n}\n'
    assert read_types([other, GO])["Item"] == {"other": "string"}
