from __future__ import annotations

import pytest

from mooring.api.durations import Duration
from mooring.app.command_line import read_flags
from mooring.app.options import (
    LoggingOptions,
    Options,
    make_options,
    read_feature_gates,
    read_log_options,
)
from mooring.errors import ConfigError
from mooring.serve.serving_options import (
    Authentication,
    Authorization,
    InsecureServing,
    RequestHeaders,
    SecureServing,
)


def options(*argv: str) -> Options:
    flags = read_flags(argv)
    return make_options(flags, read_feature_gates(flags))


def test_without_flags_everything_is_as_in_kube_scheduler() -> None:
    made = options()
    assert made.serving == SecureServing()
    assert made.insecure_serving == InsecureServing(port=0)
    assert made.authentication == Authentication()
    assert made.authorization == Authorization()
    assert made.pod_max_in_unschedulable_pods_duration == Duration.from_seconds(300)
    assert made.warnings == ()


def test_flags_reach_the_settings() -> None:
    made = options(
        "--bind-address=127.0.0.1",
        "--secure-port=0",
        "--tls-min-version=VersionTLS13",
        "--authentication-kubeconfig=a",
        "--authentication-token-webhook-cache-ttl=1m",
        "--authentication-tolerate-lookup-failure=false",
        "--client-ca-file=ca",
        "--requestheader-allowed-names=proxy",
        "--authorization-kubeconfig=b",
        "--authorization-always-allow-paths=/x*",
        "--authorization-webhook-cache-unauthorized-ttl=500ms",
        "--plugin=a.py:A",
        "--plugin=b.py:B",
        "--disabled-metrics=m",
        "--extender-max-response-size=64Mi",
        "--explain-memory=1Mi",
    )
    assert made.serving.bind_address == "127.0.0.1"
    assert made.serving.port == 0
    assert made.serving.min_version == "VersionTLS13"
    assert made.authentication == Authentication(
        kubeconfig="a",
        cache_seconds=60.0,
        tolerate_lookup_failure=False,
        client_ca_file="ca",
        request_headers=RequestHeaders(allowed_names=("proxy",)),
    )
    assert made.authorization == Authorization(
        kubeconfig="b", always_allow_paths=("/x*",), deny_seconds=0.5
    )
    assert made.plugin == ("a.py:A", "b.py:B")
    assert made.metrics.disabled == ("m",)
    assert made.extender_max_response_size.value() == 64 * 2**20
    assert options().extender_max_response_size.value() == 10 * 2**20
    assert made.explain_memory.value() == 2**20
    assert options().explain_memory.value() == 16 * 2**20
    assert options("--explain-memory=0").explain_memory.value() == 0


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (
            ["--secure-port=70000"],
            "--secure-port 70000 must be between 1 and 65535, inclusive. "
            "It cannot be turned off with 0",
        ),
        (
            ["--secure-port=-1"],
            "--secure-port -1 must be between 0 and 65535, inclusive. "
            "0 for turning off secure port",
        ),
        (
            ["--livez-scheduling-cycle-timeout=0"],
            "--livez-scheduling-cycle-timeout 0s must be greater than 0",
        ),
        (["--feature-gates=Foo=true"], "unrecognized feature gate: Foo"),
        (["--feature-gates=Foo"], "missing bool value for Foo"),
        (
            ["--feature-gates=kube:AllAlpha=true", "--feature-gates=AllBeta=true"],
            "set kube feature gates with default empty prefix or kube: prefix consistently, "
            "do not mix use",
        ),
        (
            ["--requestheader-username-headers= "],
            'empty value in "requestheader-username-headers"',
        ),
        (
            ["--requestheader-uid-headers=X-Id"],
            "--requestheader-uid-headers is set without specifying the standard X-Remote-Uid "
            "header - API aggregation will not work",
        ),
        (
            ["--feature-gates=RemoteRequestHeaderUID=false", "--requestheader-uid-headers=x"],
            "--requestheader-uid-headers requires the "
            '"RemoteRequestHeaderUID" feature to be enabled',
        ),
        (["--emulated-version=foo"], 'could not parse "foo" as version'),
        (
            ["--emulated-version=1.36", "--emulated-version=1.37"],
            "duplicate version flag, kube=1.36 and kube=1.37",
        ),
        (
            ["--min-compatibility-version=1.20"],
            "minCompatibilityVersion version 1.20 is not between [1.34, 1.37]",
        ),
        (
            ["--emulated-version=1.20"],
            "emulation version 1.20 is not between [1.36, 1.37.0]",
        ),
        (
            ["--show-hidden-metrics-for-version=1.1"],
            'metrics.showHiddenMetricsForVersion: Invalid value: "1.1": must be omitted or have '
            "the value '1.36'; only the previous minor version is allowed",
        ),
        (
            ["--allow-metric-labels=a=b"],
            'metrics.allowListMapping: Invalid value: {"a":"b"}: must have keys with format '
            '`metricName,labelName` where metricName matches "[a-zA-Z_:][a-zA-Z0-9_:]*" '
            'and labelName matches "[a-zA-Z_][a-zA-Z0-9_]*"',
        ),
        (
            ["--port=-1", "--address=here"],
            "[--port -1 must be between 0 and 65535, inclusive. 0 for turning off insecure (HTTP) "
            "port, --address here is an invalid IP address]",
        ),
        (
            ["--extender-max-response-size=0"],
            "--extender-max-response-size must be from 1 byte to 1Gi, got 0",
        ),
        (
            ["--extender-max-response-size=2Gi"],
            "--extender-max-response-size must be from 1 byte to 1Gi, got 2Gi",
        ),
        (
            ["--explain-memory=-1"],
            "--explain-memory must be a size, or 0 to keep nothing, got -1",
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_values_that_cannot_be_are_refused_in_gos_words(argv: list[str], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        options(*argv)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        ([], LoggingOptions()),
        (["-v=4", "--vmodule=a=1,b=2"], LoggingOptions(v=4, vmodule="a=1,b=2")),
        (["--logging-format=json"], LoggingOptions(format="json")),
        (
            ["--logging-format=foo"],
            'format: Invalid value: "foo": Unsupported log format',
        ),
        (
            ["--logging-format=json", "--vmodule=a=1"],
            "vmodule: Forbidden: Only supported for text log format",
        ),
        (
            ["--logging-format=json", "--feature-gates=LoggingBetaOptions=false"],
            "format: Forbidden: Log format json is disabled, see LoggingBetaOptions feature",
        ),
        (
            ["--log-text-split-stream"],
            "options.text.splitStream: Forbidden: Feature LoggingAlphaOptions is disabled",
        ),
        (["--log-text-split-stream", "--feature-gates=LoggingAlphaOptions=true"], LoggingOptions()),
    ],
    ids=lambda value: " ".join(value) or "nothing" if isinstance(value, list) else "",
)
def test_how_to_log(argv: list[str], expected: LoggingOptions | str) -> None:
    flags = read_flags(argv)
    gates = read_feature_gates(flags)
    if isinstance(expected, LoggingOptions):
        assert read_log_options(flags, gates) == expected
    else:
        with pytest.raises(ConfigError) as caught:
            read_log_options(flags, gates)
        assert str(caught.value) == expected


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["--port=10251"], ["Flag --port has been deprecated, use --secure-port"]),
        (
            ["--port=10251", "--config=x"],
            [
                "Flag --port has been deprecated, use --secure-port; it is ignored, because "
                "--config is given"
            ],
        ),
        (
            ["--policy-configmap=x", "--policy-configmap-namespace=y"],
            ["Flag --policy-configmap has", "Flag --policy-configmap-namespace has"],
        ),
        (
            ["--scheduler-name=x", "--lock-object-name=y", "--lock-object-namespace=z"],
            ["--lock-object-name has", "--lock-object-namespace has", "--scheduler-name has"],
        ),
        (["--requestheader-group-headers=x"], ["--requestheader-group-headers is set without"]),
        (["--tls-curve-preferences=29"], ["Flag --tls-curve-preferences has no effect"]),
        (
            ["--feature-gates=DynamicResourceAllocation=true"],
            ["Warning: setting GA feature gate. It will be removed in a future release."],
        ),
    ],
    ids=lambda value: " ".join(value),
)
def test_old_ways_are_warned_about(argv: list[str], words: list[str]) -> None:
    warnings = options(*argv).warnings
    assert len(warnings) == len(words)
    for warning, wanted in zip(warnings, words, strict=True):
        assert wanted in warning


def test_plain_http_is_served_only_where_no_file_is_given() -> None:
    assert options("--port=10251").insecure_serving == InsecureServing(port=10251)
    assert options("--port=10251", "--config=x").insecure_serving == InsecureServing()
