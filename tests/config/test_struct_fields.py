"""The fields of Structs."""

from __future__ import annotations

from mooring.config.struct_fields import struct_fields
from mooring.config.types import LeaderElection


def test_fields_have_the_names_of_the_file() -> None:
    names = {field.name: field.encode_name for field in struct_fields(LeaderElection)}
    assert names["renew_deadline"] == "renewDeadline"
    assert struct_fields(LeaderElection) is struct_fields(LeaderElection)
