from __future__ import annotations

import pytest

from mooring.apiserver.validation.containers import check_port
from tests.apiserver.validation.objects import Object, container, pod, refusals, texts

CLAIMED = [
    {"name": "e", "emptyDir": {}},
    {"name": "p", "persistentVolumeClaim": {"claimName": "p"}},
]

CONTAINERS: dict[str, tuple[Object, list[str]]] = {
    "a plain container is valid": ({}, []),
    "no name": ({"name": ""}, ["spec.containers[0].name: Required value"]),
    "a bad name": ({"name": "A"}, ['spec.containers[0].name: Invalid value: "A": <label>']),
    "no image": ({"image": ""}, ["spec.containers[0].image: Required value"]),
    "an image with spaces around it": (
        {"image": " i "},
        [
            'spec.containers[0].image: Invalid value: " i ": must not have leading or '
            "trailing whitespace"
        ],
    ),
    "an unknown message policy": (
        {"terminationMessagePolicy": "Log"},
        [
            'spec.containers[0].terminationMessagePolicy: Unsupported value: "Log": '
            'supported values: "File", "FallbackToLogsOnError"'
        ],
    ),
    "an unknown pull policy": (
        {"imagePullPolicy": "Maybe"},
        [
            'spec.containers[0].imagePullPolicy: Unsupported value: "Maybe": supported '
            'values: "Always", "IfNotPresent", "Never"'
        ],
    ),
    "bad ports": (
        {
            "ports": [
                {"containerPort": 0},
                {"containerPort": 70000, "hostPort": 70000},
                {"containerPort": 80, "protocol": "HTTP"},
                {"containerPort": 80, "name": "Web"},
            ]
        },
        [
            "spec.containers[0].ports[0].containerPort: Required value",
            "spec.containers[0].ports[1].containerPort: Invalid value: 70000: must be "
            "between 1 and 65535, inclusive",
            "spec.containers[0].ports[1].hostPort: Invalid value: 70000: must be between "
            "1 and 65535, inclusive",
            'spec.containers[0].ports[2].protocol: Unsupported value: "HTTP": supported '
            'values: "SCTP", "TCP", "UDP"',
            'spec.containers[0].ports[3].name: Invalid value: "Web": must contain only '
            "alpha-numeric characters (a-z, 0-9), and hyphens (-)",
        ],
    ),
    "two ports of one name": (
        {"ports": [{"containerPort": 80, "name": "a"}, {"containerPort": 81, "name": "a"}]},
        ['spec.containers[0].ports[1].name: Duplicate value: "a"'],
    ),
    "two uses of a host's port": (
        {"ports": [{"containerPort": 80, "hostPort": 1}, {"containerPort": 81, "hostPort": 1}]},
        ['spec.containers[0].ports[1].hostPort: Duplicate value: "TCP//1"'],
    ),
    "a host's port on two addresses is valid": (
        {
            "ports": [
                {"containerPort": 80, "hostPort": 1, "hostIP": "10.0.0.1"},
                {"containerPort": 81, "hostPort": 1, "hostIP": "10.0.0.2"},
            ]
        },
        [],
    ),
    "mounts without a name, a path and a volume": (
        {"volumeMounts": [{"name": "", "mountPath": ""}, {"name": "x", "mountPath": "/x"}]},
        [
            "spec.containers[0].volumeMounts[0].name: Required value",
            'spec.containers[0].volumeMounts[0].name: Not found: ""',
            "spec.containers[0].volumeMounts[0].mountPath: Required value",
            'spec.containers[0].volumeMounts[1].name: Not found: "x"',
        ],
    ),
    "two mounts at one path": (
        {"volumeMounts": [{"name": "e", "mountPath": "/x"}, {"name": "p", "mountPath": "/x"}]},
        ['spec.containers[0].volumeMounts[1].mountPath: Invalid value: "/x": must be unique'],
    ),
    "a volume both mounted and used as a device": (
        {
            "volumeMounts": [{"name": "p", "mountPath": "/x"}],
            "volumeDevices": [{"name": "p", "devicePath": "/x"}],
        },
        [
            'spec.containers[0].volumeMounts[0].name: Invalid value: "p": must not '
            "already exist in volumeDevices",
            'spec.containers[0].volumeMounts[0].mountPath: Invalid value: "/x": must not '
            "already exist as a path in volumeDevices",
            'spec.containers[0].volumeDevices[0].name: Invalid value: "p": must not '
            "already exist in volumeMounts",
            'spec.containers[0].volumeDevices[0].devicePath: Invalid value: "/x": must '
            "not already exist as a path in volumeMounts",
        ],
    ),
    "bad paths inside of a volume": (
        {
            "volumeMounts": [
                {"name": "e", "mountPath": "/x", "subPath": "/a"},
                {"name": "e", "mountPath": "/y", "subPath": "a", "subPathExpr": "../b"},
            ]
        },
        [
            'spec.containers[0].volumeMounts.subPath: Invalid value: "/a": must be a relative path',
            'spec.containers[0].volumeMounts[1].subPathExpr: Invalid value: "../b": '
            "subPathExpr and subPath are mutually exclusive",
            'spec.containers[0].volumeMounts.subPathExpr: Invalid value: "../b": must '
            "not contain '..'",
        ],
    ),
    "an unknown propagation": (
        {"volumeMounts": [{"name": "e", "mountPath": "/x", "mountPropagation": "Up"}]},
        [
            'spec.containers[0].volumeMounts.mountPropagation: Unsupported value: "Up": '
            'supported values: "Bidirectional", "HostToContainer", "None"'
        ],
    ),
    "mounts that propagate to the host": (
        {"volumeMounts": [{"name": "e", "mountPath": "/x", "mountPropagation": "Bidirectional"}]},
        [
            "spec.containers[0].volumeMounts.mountPropagation: Forbidden: Bidirectional "
            "mount propagation is available only to privileged containers"
        ],
    ),
    "mounts of a privileged container that propagate to the host are valid": (
        {
            "securityContext": {"privileged": True},
            "volumeMounts": [{"name": "e", "mountPath": "/x", "mountPropagation": "Bidirectional"}],
        },
        [],
    ),
    "an unknown recursion": (
        {"volumeMounts": [{"name": "e", "mountPath": "/x", "recursiveReadOnly": "Yes"}]},
        [
            "spec.containers[0].volumeMounts.recursiveReadOnly: Unsupported value: "
            '"Yes": supported values: "Disabled", "Enabled", "IfPossible"'
        ],
    ),
    "a recursive mount that is written and propagates": (
        {
            "volumeMounts": [
                {
                    "name": "e",
                    "mountPath": "/x",
                    "recursiveReadOnly": "Enabled",
                    "mountPropagation": "HostToContainer",
                }
            ]
        },
        [
            "spec.containers[0].volumeMounts.recursiveReadOnly: Forbidden: may only be "
            "specified when readOnly is true",
            "spec.containers[0].volumeMounts.recursiveReadOnly: Forbidden: may only be "
            "specified when mountPropagation is None or not specified",
        ],
    ),
    "bad devices": (
        {
            "volumeDevices": [
                {"name": "", "devicePath": ""},
                {"name": "e", "devicePath": "/d/../e"},
                {"name": "p", "devicePath": "/p"},
                {"name": "p", "devicePath": "/p"},
            ]
        },
        [
            "spec.containers[0].volumeDevices[0].name: Required value",
            'spec.containers[0].volumeDevices[0].name: Not found: ""',
            "spec.containers[0].volumeDevices[0].devicePath: Required value",
            'spec.containers[0].volumeDevices[1].name: Invalid value: "e": can only use '
            "volume source type of PersistentVolumeClaim or Ephemeral for block mode",
            'spec.containers[0].volumeDevices[1].devicePath: Invalid value: "/d/../e": '
            "can not contain backsteps ('..')",
            'spec.containers[0].volumeDevices[3].name: Invalid value: "p": must be unique',
            'spec.containers[0].volumeDevices[3].devicePath: Invalid value: "/p": must be unique',
        ],
    ),
    "hooks without an action and with two": (
        {
            "lifecycle": {
                "postStart": {},
                "preStop": {"exec": {"command": ["a"]}, "tcpSocket": {"port": 1}},
            }
        },
        [
            "spec.containers[0].lifecycle.postStart: Required value: must specify a handler type",
            "spec.containers[0].lifecycle.preStop.tcpSocket: Forbidden: may not specify "
            "more than 1 handler type",
        ],
    ),
    "a hook that sleeps too long": (
        {"lifecycle": {"preStop": {"sleep": {"seconds": 31}}}},
        [
            "spec.containers[0].lifecycle.preStop.sleep: Invalid value: 31: must be "
            "non-negative and less than terminationGracePeriodSeconds (30)"
        ],
    ),
    "a hook that sleeps is valid": ({"lifecycle": {"preStop": {"sleep": {"seconds": 30}}}}, []),
    "a request to a bad port, by a bad scheme, with a bad header": (
        {
            "livenessProbe": {
                "httpGet": {
                    "port": 0,
                    "scheme": "FTP",
                    "httpHeaders": [{"name": "a b", "value": ""}],
                }
            }
        },
        [
            "spec.containers[0].livenessProbe.httpGet.port: Invalid value: 0: must be "
            "between 1 and 65535, inclusive",
            'spec.containers[0].livenessProbe.httpGet.scheme: Unsupported value: "FTP": '
            'supported values: "HTTP", "HTTPS"',
            'spec.containers[0].livenessProbe.httpGet.httpHeaders: Invalid value: "a b": '
            "<HTTP header>",
        ],
    ),
    "a command without words": (
        {"livenessProbe": {"exec": {}}},
        ["spec.containers[0].livenessProbe.exec.command: Required value"],
    ),
    "negative numbers of a probe": (
        {
            "livenessProbe": {
                "grpc": {"port": 1},
                "initialDelaySeconds": -1,
                "timeoutSeconds": -1,
                "periodSeconds": -1,
                "failureThreshold": -1,
                "terminationGracePeriodSeconds": 0,
            }
        },
        [
            "spec.containers[0].livenessProbe.initialDelaySeconds: Invalid value: -1: "
            "must be greater than or equal to 0",
            "spec.containers[0].livenessProbe.timeoutSeconds: Invalid value: -1: must be "
            "greater than or equal to 0",
            "spec.containers[0].livenessProbe.periodSeconds: Invalid value: -1: must be "
            "greater than or equal to 0",
            "spec.containers[0].livenessProbe.failureThreshold: Invalid value: -1: must "
            "be greater than or equal to 0",
            "spec.containers[0].livenessProbe.terminationGracePeriodSeconds: Invalid "
            "value: 0: must be greater than 0",
        ],
    ),
    "more than one success of a liveness probe": (
        {"livenessProbe": {"tcpSocket": {"port": "web"}, "successThreshold": 2}},
        ["spec.containers[0].livenessProbe.successThreshold: Invalid value: 2: must be 1"],
    ),
    "more than one success of a readiness probe is valid": (
        {"readinessProbe": {"tcpSocket": {"port": "web"}, "successThreshold": 2}},
        [],
    ),
    "a grace period of a readiness probe": (
        {"readinessProbe": {"grpc": {"port": 1}, "terminationGracePeriodSeconds": 5}},
        [
            "spec.containers[0].readinessProbe.terminationGracePeriodSeconds: Invalid "
            "value: 5: must not be set for readinessProbes"
        ],
    ),
    "bad resize policies": (
        {
            "resizePolicy": [
                {"resourceName": "cpu", "restartPolicy": "NotRequired"},
                {"resourceName": "cpu", "restartPolicy": "Always"},
                {"resourceName": "gpu", "restartPolicy": ""},
            ]
        },
        [
            'spec.containers[0].resizePolicy[1]: Duplicate value: "cpu"',
            'spec.containers[0].resizePolicy: Unsupported value: "Always": supported '
            'values: "NotRequired", "RestartContainer"',
            'spec.containers[0].resizePolicy: Unsupported value: "gpu": supported '
            'values: "cpu", "memory"',
            "spec.containers[0].resizePolicy: Required value",
        ],
    ),
    "an unknown restart policy": (
        {"restartPolicy": "Sometimes"},
        [
            'spec.containers[0].restartPolicy: Unsupported value: "Sometimes": supported '
            'values: "Always", "Never", "OnFailure"'
        ],
    ),
    "rules of a restart without its policy": (
        {
            "restartPolicyRules": [
                {"action": "Restart", "exitCodes": {"operator": "In", "values": [1]}}
            ]
        },
        [
            "spec.containers[0].restartPolicy: Required value: must specify "
            "restartPolicy when restart rules are used"
        ],
    ),
    "bad rules of a restart": (
        {
            "restartPolicy": "Never",
            "restartPolicyRules": [
                {"action": "Stop"},
                {"action": "Restart", "exitCodes": {"operator": "Is", "values": [1] * 256}},
            ],
        },
        [
            'spec.containers[0].restartPolicyRules[0].action: Unsupported value: "Stop": '
            'supported values: "Restart", "RestartAllContainers"',
            "spec.containers[0].restartPolicyRules[0].exitCodes: Required value: must be specified",
            "spec.containers[0].restartPolicyRules[1].exitCodes.operator: Unsupported "
            'value: "Is": supported values: "In", "NotIn"',
            "spec.containers[0].restartPolicyRules[1].exitCodes.values: Too many: 256: "
            "must have at most 255 items",
        ],
    ),
    "too many rules of a restart": (
        {
            "restartPolicy": "Never",
            "restartPolicyRules": [
                {"action": "Restart", "exitCodes": {"operator": "In", "values": [1]}}
            ]
            * 21,
        },
        ["spec.containers[0].restartPolicyRules: Too many: 21: must have at most 20 items"],
    ),
}


@pytest.mark.parametrize(("fields", "expected"), CONTAINERS.values(), ids=CONTAINERS)
def test_containers(fields: Object, expected: list[str]) -> None:
    assert refusals(pod(containers=[container(**fields)], volumes=CLAIMED)) == expected


def test_containers_differ_in_name_and_host_port() -> None:
    port = {"containerPort": 80, "hostPort": 1}
    found = refusals(pod(containers=[container(ports=[port]), container(ports=[port])]))
    assert found == [
        'spec.containers[1].name: Duplicate value: "c"',
        'spec.containers[1].ports[0].hostPort: Duplicate value: "TCP//1"',
    ]


def test_a_pod_that_never_restarts_resizes_without_a_restart() -> None:
    policy = [{"resourceName": "cpu", "restartPolicy": "RestartContainer"}]
    found = refusals(pod(restartPolicy="Never", containers=[container(resizePolicy=policy)]))
    assert found == [
        'spec.containers[0].resizePolicy: Invalid value: "RestartContainer": must be '
        "'NotRequired' when pod `restartPolicy` is 'Never'"
    ]


INIT: dict[str, tuple[Object, list[str]]] = {
    "an init container is valid": ({"name": "i"}, []),
    "the name of another container": (
        {"name": "c"},
        ['spec.initContainers[0].name: Duplicate value: "c"'],
    ),
    "no name": ({"name": ""}, ["spec.initContainers[0].name: Required value"]),
    "hooks and probes of a container that ends": (
        {
            "name": "i",
            "lifecycle": {"preStop": {"exec": {"command": ["a"]}}},
            "livenessProbe": {"grpc": {"port": 1}},
            "readinessProbe": {"grpc": {"port": 1}},
            "startupProbe": {"grpc": {"port": 1}},
        },
        [
            "spec.initContainers[0].lifecycle: Forbidden: may not be set for init "
            "containers without restartPolicy=Always",
            "spec.initContainers[0].livenessProbe: Forbidden: may not be set for init "
            "containers without restartPolicy=Always",
            "spec.initContainers[0].readinessProbe: Forbidden: may not be set for init "
            "containers without restartPolicy=Always",
            "spec.initContainers[0].startupProbe: Forbidden: may not be set for init "
            "containers without restartPolicy=Always",
        ],
    ),
    "hooks and probes of a sidecar are valid": (
        {
            "name": "i",
            "restartPolicy": "Always",
            "lifecycle": {"preStop": {"exec": {"command": ["a"]}}},
            "startupProbe": {"grpc": {"port": 1}},
        },
        [],
    ),
    "a bad probe of a sidecar": (
        {"name": "i", "restartPolicy": "Always", "startupProbe": {"grpc": {"port": 0}}},
        [
            "spec.initContainers[0].startupProbe.grpc.port: Invalid value: 0: must be "
            "between 1 and 65535, inclusive"
        ],
    ),
    "an unknown restart policy": (
        {"name": "i", "restartPolicy": "Sometimes"},
        [
            'spec.initContainers[0].restartPolicy: Unsupported value: "Sometimes": '
            'supported values: "Always", "Never", "OnFailure"'
        ],
    ),
}


@pytest.mark.parametrize(("fields", "expected"), INIT.values(), ids=INIT)
def test_init_containers(fields: Object, expected: list[str]) -> None:
    assert refusals(pod(initContainers=[container(**fields)])) == expected


@pytest.mark.parametrize(
    ("port", "expected"),
    [
        (80, []),
        ("web", []),
        (0, ["f: Invalid value: 0: must be between 1 and 65535, inclusive"]),
        (
            "Web",
            [
                'f: Invalid value: "Web": must contain only alpha-numeric characters (a-z, '
                "0-9), and hyphens (-)"
            ],
        ),
    ],
    ids=["a number", "a name", "a bad number", "a bad name"],
)
def test_ports_by_number_or_name(port: int | str, expected: list[str]) -> None:
    assert texts(check_port(port, "f")) == expected
