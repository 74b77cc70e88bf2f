"""How messages show a change of an immutable spec."""

from __future__ import annotations

from mooring.apiserver.validation.changes import claim_as_go, difference, source_as_go


def test_a_claim_is_shown_with_gos_names_and_three_lines_around_a_change() -> None:
    old = {"accessModes": ["ReadWriteOnce"], "storageClassName": "a", "resources": {}}
    shown = difference(claim_as_go(old), claim_as_go({**old, "storageClassName": "b"}))
    assert shown == (
        "@@ -8,7 +8,7 @@\n"
        '   "Requests": null\n'
        "  },\n"
        '  "VolumeName": "",\n'
        '- "StorageClassName": "a",\n'
        '+ "StorageClassName": "b",\n'
        '  "VolumeMode": null,\n'
        '  "DataSource": null,\n'
        '  "DataSourceRef": null,\n'
    )


def test_a_volume_shows_every_source_and_the_fields_of_the_one_it_has() -> None:
    shown = source_as_go({"hostPath": {"path": "/x"}, "capacity": {"storage": "1Gi"}})
    assert shown["HostPath"] == {"Path": "/x", "Type": None}
    assert [name for name, source in shown.items() if source is not None] == ["HostPath"]


def test_a_secret_of_a_driver_is_shown_as_a_struct() -> None:
    csi = {"driver": "d", "volumeHandle": "h", "nodeStageSecretRef": {"name": "s"}}
    shown = source_as_go({"csi": csi})["CSI"]
    assert shown["NodeStageSecretRef"] == {"Name": "s", "Namespace": ""}
    assert shown["FSType"] == ""
