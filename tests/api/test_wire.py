"""The JSON names of fields."""

from __future__ import annotations

import pytest

from mooring.api.spelling import wire_name


@pytest.mark.parametrize(
    ("name", "wire"),
    [
        ("name", "name"),
        ("node_name", "nodeName"),
        ("pod_ips", "podIPs"),
        ("host_pid", "hostPID"),
        ("set_hostname_as_fqdn", "setHostnameAsFQDN"),
        ("ip", "ip"),
        ("pod_cidrs", "podCIDRs"),
        ("system_uuid", "systemUUID"),
        ("scale_io", "scaleIO"),
        ("api_version", "apiVersion"),
    ],
)
def test_names_are_spelt_as_kubernetes_spells_them(name, wire):
    assert wire_name(name) == wire
