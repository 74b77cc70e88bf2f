from __future__ import annotations

from mooring.app import flag_table
from mooring.app.controllers_flags import COMPONENT, FLAGS, PORT


def test_defaults_differ_from_those_of_a_scheduler() -> None:
    flags = {flag.name: flag for group in FLAGS for flag in group.flags}
    scheduler = {flag.name: flag for group in flag_table.ALL for flag in group.flags}
    assert flags["secure-port"].default == PORT != scheduler["secure-port"].default
    assert flags["leader-elect-resource-name"].default == COMPONENT
    name = "leader-elect-lease-duration"
    assert flags[name] == scheduler[name]
