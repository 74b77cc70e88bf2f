"""The table of API types."""

from __future__ import annotations

import pytest

from mooring.controlplane.type_table import LIST, MAP, STRUCT, types


def test_a_kind_is_found_in_its_group_version_alone() -> None:
    table = types()
    assert table.find("v1", "Pod") is table.get("core.v1.Pod")
    assert table.find("apps/v1", "Pod") is None
    assert table.find("v1", "PodSpec") is None, "a part of a kind is no kind"


def test_the_options_of_requests_belong_to_every_group() -> None:
    assert types().find("apps/v1", "DeleteOptions") is types().get("meta.v1.DeleteOptions")


def test_structs_in_place_are_one_message_and_many_fields() -> None:
    volume = types().get("core.v1.Volume")
    assert {"name", "emptyDir", "configMap"} <= volume.fields.keys()
    assert volume.by_number[2].inline
    assert volume.fields["emptyDir"].via == ("VolumeSource",)


@pytest.mark.parametrize(
    ("place", "list_type", "keys", "strategies", "merge_key"),
    [
        ("core.v1.PodSpec.containers", "map", ("name",), ("merge",), "name"),
        ("core.v1.PodSpec.tolerations", "atomic", (), (), ""),
        ("core.v1.PodSpec.volumes", "map", ("name",), ("merge", "retainKeys"), "name"),
        ("core.v1.ServiceSpec.ports", "map", ("port", "protocol"), ("merge",), "port"),
        ("meta.v1.ObjectMeta.finalizers", "set", (), ("merge",), ""),
    ],
)
def test_lists_say_how_they_merge(
    place: str, list_type: str, keys: tuple[str, ...], strategies: tuple[str, ...], merge_key: str
) -> None:
    type_name, _, name = place.rpartition(".")
    field = types().get(type_name).fields[name]
    assert field.kind.form == LIST
    assert (field.kind.list_type, field.kind.keys) == (list_type, keys)
    assert (field.strategies, field.merge_key) == (strategies, merge_key)


def test_go_keeps_null_apart_where_there_is_a_pointer() -> None:
    spec = types().get("apps.v1.DeploymentSpec").fields
    assert spec["replicas"].kind.pointer
    assert not spec["paused"].kind.pointer
    assert spec["template"].always and spec["template"].kind.form == STRUCT
    assert types().get("core.v1.PodSpec").fields["nodeSelector"].kind.form == MAP


def test_discovery_knows_resources_and_subresources() -> None:
    found = {one.name: one for one in types().resources("v1")}
    assert found["pods"].short_names == ("po",)
    assert found["pods"].categories == ("all",)
    assert not found["nodes"].namespaced
    assert found["pods/eviction"].kind_group_version == "policy/v1"


def test_every_type_can_be_read() -> None:
    count = 0
    for package in types().packages.values():
        for one in package.types.values():
            assert one.fields is not None
            count += 1
    assert count > 700
