from __future__ import annotations

import pytest

from tests.apiserver.validation.objects import Object, container, pod, refusals

CONTAINERS: dict[str, tuple[Object, list[str]]] = {
    "an ordinary user": ({"runAsUser": 1000, "runAsGroup": 0}, []),
    "negative ids": (
        {"runAsUser": -1, "runAsGroup": -1},
        [
            "spec.containers[0].securityContext.runAsUser: Invalid value: -1: must be "
            "between 0 and 2147483647, inclusive",
            "spec.containers[0].securityContext.runAsGroup: Invalid value: -1: must be "
            "between 0 and 2147483647, inclusive",
        ],
    ),
    "an id too large for Linux": (
        {"runAsUser": 2**31},
        [
            "spec.containers[0].securityContext.runAsUser: Invalid value: 2147483648: "
            "must be between 0 and 2147483647, inclusive"
        ],
    ),
    "an unknown mount of proc": (
        {"procMount": "Hidden"},
        [
            'spec.containers[0].securityContext.procMount: Unsupported value: "Hidden": '
            'supported values: "Default", "Unmasked"'
        ],
    ),
    "a privileged container that may not gain rights": (
        {"privileged": True, "allowPrivilegeEscalation": False},
        [
            "spec.containers[0].securityContext: Invalid value: "
            '{"privileged":true,"allowPrivilegeEscalation":false}: cannot set '
            "`allowPrivilegeEscalation` to false and `privileged` to true"
        ],
    ),
    "a powerful capability of a container that may not gain rights": (
        {"allowPrivilegeEscalation": False, "capabilities": {"add": ["CAP_SYS_ADMIN"]}},
        [
            "spec.containers[0].securityContext: Invalid value: "
            '{"allowPrivilegeEscalation":false,"capabilities":{"add":["CAP_SYS_ADMIN"]}}: '
            "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` "
            "CAP_SYS_ADMIN"
        ],
    ),
    "profiles without a type": (
        {"seccompProfile": {}, "appArmorProfile": {}},
        [
            "spec.containers[0].securityContext.seccompProfile.type: Required value: "
            "type is required when seccompProfile is set",
            "spec.containers[0].securityContext.appArmorProfile.type: Required value: "
            "type is required when appArmorProfile is set",
        ],
    ),
    "profiles of an unknown type": (
        {"seccompProfile": {"type": "Own"}, "appArmorProfile": {"type": "Own"}},
        [
            "spec.containers[0].securityContext.seccompProfile.type: Unsupported value: "
            '"Own": supported values: "Localhost", "RuntimeDefault", "Unconfined"',
            "spec.containers[0].securityContext.appArmorProfile.type: Unsupported value: "
            '"Own": supported values: "Localhost", "RuntimeDefault", "Unconfined"',
        ],
    ),
    "profiles of the node without a name": (
        {"seccompProfile": {"type": "Localhost"}, "appArmorProfile": {"type": "Localhost"}},
        [
            "spec.containers[0].securityContext.seccompProfile.localhostProfile: "
            "Required value: must be set when seccomp type is Localhost",
            "spec.containers[0].securityContext.appArmorProfile.localhostProfile: "
            "Required value: must be set when AppArmor type is Localhost",
        ],
    ),
    "a profile outside of the node's folder": (
        {"seccompProfile": {"type": "Localhost", "localhostProfile": "../a"}},
        [
            "spec.containers[0].securityContext.seccompProfile.localhostProfile: Invalid "
            "value: \"../a\": must not contain '..'"
        ],
    ),
    "named profiles that are not the node's": (
        {
            "seccompProfile": {"type": "Unconfined", "localhostProfile": "a"},
            "appArmorProfile": {"type": "RuntimeDefault", "localhostProfile": "a"},
        },
        [
            "spec.containers[0].securityContext.seccompProfile.localhostProfile: Invalid "
            'value: {"type":"Unconfined","localhostProfile":"a"}: can only be set when '
            "seccomp type is Localhost",
            "spec.containers[0].securityContext.appArmorProfile.localhostProfile: "
            'Invalid value: "a": can only be set when AppArmor type is Localhost',
        ],
    ),
}


@pytest.mark.parametrize(("context", "expected"), CONTAINERS.values(), ids=CONTAINERS)
def test_security_of_containers(context: Object, expected: list[str]) -> None:
    assert refusals(pod(containers=[container(securityContext=context)])) == expected


PODS: dict[str, tuple[Object, list[str]]] = {
    "bad ids and groups": (
        {"securityContext": {"fsGroup": -1, "supplementalGroups": [1, -1]}},
        [
            "spec.securityContext.fsGroup: Invalid value: -1: must be between 0 and "
            "2147483647, inclusive",
            "spec.securityContext.supplementalGroups[1]: Invalid value: -1: must be "
            "between 0 and 2147483647, inclusive",
        ],
    ),
    "unknown policies": (
        {
            "securityContext": {
                "fsGroupChangePolicy": "Never",
                "supplementalGroupsPolicy": "Both",
                "seLinuxChangePolicy": "Never",
            }
        },
        [
            'spec.securityContext.fsGroupChangePolicy: Unsupported value: "Never": '
            'supported values: "Always", "OnRootMismatch"',
            'spec.securityContext.supplementalGroupsPolicy: Unsupported value: "Both": '
            'supported values: "Merge", "Strict"',
            'spec.securityContext.seLinuxChangePolicy: Unsupported value: "Never": '
            'supported values: "Recursive"',
        ],
    ),
    "namespaces of the host in a pod with users of its own": (
        {"hostUsers": False, "hostNetwork": True, "hostPID": True, "hostIPC": True},
        [
            "spec.hostNetwork: Forbidden: when `hostUsers` is false",
            "spec.HostPID: Forbidden: when `hostUsers` is false",
            "spec.HostIPC: Forbidden: when `hostUsers` is false",
        ],
    ),
    "processes shared with containers and host": (
        {"shareProcessNamespace": True, "hostPID": True},
        [
            "spec.shareProcessNamespace: Invalid value: true: "
            "ShareProcessNamespace and HostPID cannot both be enabled"
        ],
    ),
    "a bad name of the host": (
        {"hostnameOverride": "A"},
        ['spec.hostnameOverride: Invalid value: "A": <subdomain>'],
    ),
    "a long name of the host": (
        {"hostnameOverride": "a" * 65},
        ["spec.hostnameOverride: Too long: may not be more than 64 bytes"],
    ),
    "kernel parameters without a name, with a bad name, twice": (
        {
            "securityContext": {
                "sysctls": [
                    {"name": "", "value": ""},
                    {"name": "A", "value": ""},
                    {"name": "kernel.shm_rmid_forced", "value": "1"},
                    {"name": "kernel.shm_rmid_forced", "value": "1"},
                ]
            }
        },
        [
            "spec.securityContext.sysctls[0].name: Required value",
            'spec.securityContext.sysctls[1].name: Invalid value: "A": must have at most '
            "253 characters and match regex "
            "^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$",
            'spec.securityContext.sysctls[3].name: Duplicate value: "kernel.shm_rmid_forced"',
        ],
    ),
    "kernel parameters of namespaces shared with the host": (
        {
            "hostNetwork": True,
            "hostIPC": True,
            "securityContext": {
                "sysctls": [
                    {"name": "net.ipv4.tcp_syncookies", "value": "1"},
                    {"name": "kernel.shmmax", "value": "1"},
                    {"name": "vm.max_map_count", "value": "1"},
                ]
            },
        },
        [
            "spec.securityContext.sysctls[0].name: Invalid value: "
            "\"net.ipv4.tcp_syncookies\": may not be specified when 'hostNetwork' is true",
            'spec.securityContext.sysctls[1].name: Invalid value: "kernel.shmmax": may '
            "not be specified when 'hostIPC' is true",
        ],
    ),
}


@pytest.mark.parametrize(("spec", "expected"), PODS.values(), ids=PODS)
def test_security_of_pods(spec: Object, expected: list[str]) -> None:
    assert refusals(pod(**spec)) == expected
