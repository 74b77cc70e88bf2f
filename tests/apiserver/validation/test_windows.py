from __future__ import annotations

import pytest

from mooring.apiserver.validation.windows import check_windows_options
from tests.apiserver.validation.objects import Object, container, pod, refusals, texts


def _hosted(value: bool) -> Object:
    return {"windowsOptions": {"hostProcess": value}}


PODS: dict[str, tuple[Object, list[str]]] = {
    "options of Windows on Linux": (
        {
            "os": {"name": "linux"},
            "securityContext": {"windowsOptions": {}},
            "containers": [container(securityContext={"windowsOptions": {}})],
        },
        [
            "spec.securityContext.windowsOptions: Forbidden: windows options cannot be "
            "set for a linux pod",
            "spec.containers[0].securityContext.windowsOptions: Forbidden: windows "
            "options cannot be set for a linux pod",
        ],
    ),
    "options of Linux on Windows": (
        {
            "os": {"name": "windows"},
            "hostPID": True,
            "hostIPC": True,
            "hostUsers": True,
            "shareProcessNamespace": True,
            "securityContext": {"fsGroup": 1, "runAsUser": 1, "seLinuxOptions": {}},
            "containers": [container(securityContext={"privileged": True, "procMount": "Default"})],
        },
        [
            "spec.shareProcessNamespace: Invalid value: true: "
            "ShareProcessNamespace and HostPID cannot both be enabled",
            "spec.securityContext.seLinuxOptions: Forbidden: cannot be set for a windows pod",
            "spec.securityContext.fsGroup: Forbidden: cannot be set for a windows pod",
            "spec.securityContext.runAsUser: Forbidden: cannot be set for a windows pod",
            "spec.hostUsers: Forbidden: cannot be set for a windows pod",
            "spec.hostPID: Forbidden: cannot be set for a windows pod",
            "spec.hostIPC: Forbidden: cannot be set for a windows pod",
            "spec.shareProcessNamespace: Forbidden: cannot be set for a windows pod",
            "spec.containers[0].securityContext.privileged: Forbidden: cannot be set for "
            "a windows pod",
            "spec.containers[0].securityContext.procMount: Forbidden: cannot be set for "
            "a windows pod",
        ],
    ),
    "empty kernel parameters on Windows are valid": (
        {"os": {"name": "windows"}, "securityContext": {"sysctls": []}},
        [],
    ),
    "kernel parameters on Windows": (
        {"os": {"name": "windows"}, "securityContext": {"sysctls": [{"name": "a", "value": "1"}]}},
        ["spec.securityContext.sysctls: Forbidden: cannot be set for a windows pod"],
    ),
    "a pod of host processes": ({"hostNetwork": True, "securityContext": _hosted(True)}, []),
    "host processes without the host's network": (
        {"securityContext": _hosted(True)},
        [
            "spec.hostNetwork: Invalid value: false: hostNetwork must be true if pod "
            "contains any hostProcess containers"
        ],
    ),
    "a container that differs from its pod": (
        {
            "hostNetwork": True,
            "securityContext": _hosted(True),
            "containers": [
                container(securityContext=_hosted(False)),
                container(name="d"),
            ],
        },
        [
            "spec.containers[0].securityContext.windowsOptions.hostProcess: Invalid "
            "value: false: pod hostProcess value must be identical if both are "
            "specified, was true",
            'spec: Invalid value: "": If pod contains any hostProcess containers then '
            "all containers must be HostProcess containers",
        ],
    ),
}


@pytest.mark.parametrize(("spec", "expected"), PODS.values(), ids=PODS)
def test_systems_of_pods(spec: Object, expected: list[str]) -> None:
    assert refusals(pod(**spec)) == expected


USERS = {
    "a user": ("ContainerAdministrator", []),
    "a user of a NetBIOS domain": ("NT Authority\\System", []),
    "a user of a DNS domain": ("my.example.com\\user", []),
    "an empty text": ("", [" cannot be an empty string"]),
    "a control character": ("a\tb", [" cannot contain control characters"]),
    "two backslashes": ("a\\b\\c", [" cannot contain more than one backslash"]),
    "a domain without a user": ("a\\", ["'s User cannot be empty"]),
    "a user without a domain": ("\\a", ["'s Domain doesn't match the NetBios nor the DNS format"]),
    "a bad domain": ("-:\\a", ["'s Domain doesn't match the NetBios nor the DNS format"]),
    "a long domain": ("a" * 256 + "\\b", ["'s Domain length must be under 256 characters"]),
    "a long user": ("a" * 105, ["'s User length must not be longer than 104 characters"]),
    "dots and spaces": (". .", ["'s User cannot contain only periods or spaces"]),
    "a bad character": (
        "a@b",
        ["'s User cannot contain the following characters: \"/\\:;|=,+*?<>@[]"],
    ),
}


@pytest.mark.parametrize(("user", "expected"), USERS.values(), ids=USERS)
def test_users(user: str, expected: list[str]) -> None:
    found = texts(check_windows_options({"runAsUserName": user}, "f"))
    assert [text.rpartition('": runAsUserName')[2] for text in found] == expected


def test_credentials() -> None:
    assert check_windows_options(None, "f") == []
    options = {"gmsaCredentialSpecName": "A", "gmsaCredentialSpec": ""}
    assert texts(check_windows_options(options, "f")) == [
        'f.gmsaCredentialSpecName: Invalid value: "A": <subdomain>',
        'f.gmsaCredentialSpec: Invalid value: "": gmsaCredentialSpec cannot be an empty string',
    ]
    (long,) = texts(check_windows_options({"gmsaCredentialSpec": "é" * 32769}, "f"))
    assert long.endswith("gmsaCredentialSpec size must be under 64 KiB")
    assert check_windows_options({"gmsaCredentialSpec": "é" * 32768}, "f") == []
