"""Options: the settings of a command line, typed and checked."""

# kube-scheduler: cmd/kube-scheduler/app/options/options.go, app/server.go

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from mooring.api.durations import Duration
from mooring.api.field_errors import aggregate, forbidden, invalid
from mooring.api.go_format import go_quote
from mooring.api.quantity import Quantity
from mooring.app.flag_table import WITHOUT_EFFECT
from mooring.app.flags import FlagValues
from mooring.app.removed_flags import removed_warnings
from mooring.errors import ConfigError
from mooring.framework.features import FeatureGates
from mooring.framework.releases import NEWEST, parse_versions
from mooring.observe.logs import JSON, TEXT
from mooring.serve.serving_options import (
    Authentication,
    Authorization,
    InsecureServing,
    RequestHeaders,
    SecureServing,
)

_METRIC_LABEL = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*,[a-zA-Z_][a-zA-Z0-9_]*")
_ALPHA_FIELDS = {"split-stream": "splitStream", "info-buffer-size": "infoBufferSize"}
_NO_AGGREGATION = "API aggregation will not work"


class LoggingOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How and how much to log."""

    format: str = TEXT
    v: int = 0
    vmodule: str = ""


class MetricOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Which metrics to leave out, and which values of their labels to show."""

    disabled: tuple[str, ...] = ()
    #: Values by "metric,label", and a file with the same content, used if none are given.
    allowed_labels: dict[str, str] = {}
    allowed_labels_manifest: str = ""


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """The options of a command line; `config_source.effective_config` makes the configuration.

    A field that is called like a flag, with underscores, is the flag's value.
    """

    flags: FlagValues
    config: str
    write_config_to: str
    master: str
    #: References for `registry.load_plugin`.
    plugin: tuple[str, ...]
    extender_max_response_size: Quantity
    explain_memory: Quantity
    feature_gates: FeatureGates
    serving: SecureServing
    insecure_serving: InsecureServing
    authentication: Authentication
    authorization: Authorization
    metrics: MetricOptions
    pod_max_in_unschedulable_pods_duration: Duration
    journal: str
    journal_max_bytes: Quantity
    livez_scheduling_cycle_timeout: Duration
    #: Warnings for the user.
    warnings: tuple[str, ...]


_FIELDS = frozenset(Options.__struct_fields__)


def read_log_options(flags: FlagValues, gates: FeatureGates) -> LoggingOptions:
    """Return how to log. Checked before everything else, whose errors are logged."""
    errors = list(_log_mistakes(flags, gates))
    if errors:
        raise ConfigError(aggregate(errors))
    return LoggingOptions(
        format=flags["logging-format"], v=flags["v"], vmodule=",".join(flags["vmodule"])
    )


def read_feature_gates(flags: FlagValues) -> FeatureGates:
    """Return the feature gates as set by --feature-gates, at the release that is emulated."""
    version = parse_versions(flags["emulated-version"], flags["min-compatibility-version"])
    return FeatureGates.from_text(",".join(flags["feature-gates"]), version)


def make_options(flags: FlagValues, gates: FeatureGates) -> Options:
    """Type and check the flags; raise ConfigError with all errors at once."""
    serving = read_secure_serving(flags)
    insecure = InsecureServing(address=flags["address"], port=flags["port"])
    authentication = read_authentication(flags)
    errors = [
        *serving_mistakes(serving, insecure),
        *header_mistakes(authentication.request_headers, gates),
        *_metric_mistakes(flags),
        *flags.mistakes(),
    ]
    if errors:
        raise ConfigError(aggregate(errors))
    if flags["config"] and flags.given("port"):
        insecure = InsecureServing()
    typed: dict[str, Any] = {
        "flags": flags,
        "feature_gates": gates,
        "serving": serving,
        "insecure_serving": insecure,
        "authentication": authentication,
        "authorization": read_authorization(flags),
        "metrics": MetricOptions(
            disabled=flags["disabled-metrics"],
            allowed_labels=flags["allow-metric-labels"],
            allowed_labels_manifest=flags["allow-metric-labels-manifest"],
        ),
        "warnings": (
            *gates.warnings,
            *_header_warnings(authentication.request_headers),
            *removed_warnings(flags),
            *(f"Flag --{name} has no effect" for name in flags if _idle(name, flags)),
        ),
    }
    plain = {field: flags[field.replace("_", "-")] for field in _FIELDS - typed.keys()}
    return Options(**typed, **plain)


def _idle(name: str, flags: FlagValues) -> bool:
    return name in WITHOUT_EFFECT and flags.given(name)


def read_authorization(flags: FlagValues) -> Authorization:
    """Return how requests to the secure port are authorized."""
    return Authorization(
        kubeconfig=flags["authorization-kubeconfig"],
        always_allow_paths=flags["authorization-always-allow-paths"],
        allow_seconds=flags["authorization-webhook-cache-authorized-ttl"].seconds,
        deny_seconds=flags["authorization-webhook-cache-unauthorized-ttl"].seconds,
    )


def read_secure_serving(flags: FlagValues) -> SecureServing:
    """Return how to serve the secure port."""
    return SecureServing(
        bind_address=flags["bind-address"],
        port=flags["secure-port"],
        cert_dir=flags["cert-dir"],
        certificate_file=flags["tls-cert-file"],
        key_file=flags["tls-private-key-file"],
        sni=flags["tls-sni-cert-key"],
        cipher_suites=flags["tls-cipher-suites"],
        min_version=flags["tls-min-version"],
        permit_address_sharing=flags["permit-address-sharing"],
        permit_port_sharing=flags["permit-port-sharing"],
    )


def read_authentication(flags: FlagValues) -> Authentication:
    """Return how requests to the secure port are authenticated."""
    return Authentication(
        kubeconfig=flags["authentication-kubeconfig"],
        skip_lookup=flags["authentication-skip-lookup"],
        tolerate_lookup_failure=flags["authentication-tolerate-lookup-failure"],
        cache_seconds=flags["authentication-token-webhook-cache-ttl"].seconds,
        client_ca_file=flags["client-ca-file"],
        request_headers=RequestHeaders(
            client_ca_file=flags["requestheader-client-ca-file"],
            allowed_names=flags["requestheader-allowed-names"],
            username_headers=flags["requestheader-username-headers"],
            uid_headers=flags["requestheader-uid-headers"],
            group_headers=flags["requestheader-group-headers"],
            extra_prefixes=flags["requestheader-extra-headers-prefix"],
        ),
    )


def serving_mistakes(serving: SecureServing, insecure: InsecureServing) -> Iterator[str]:
    """Yield what is wrong with the ports."""
    if serving.port > 65535:
        # apiserver prints this although 0 does disable serving: its check has a precedence bug.
        yield (
            f"--secure-port {serving.port} must be between 1 and 65535, inclusive. "
            "It cannot be turned off with 0"
        )
    elif serving.port < 0:
        yield (
            f"--secure-port {serving.port} must be between 0 and 65535, inclusive. "
            "0 for turning off secure port"
        )
    # kube-scheduler 1.22: app/options/insecure_serving.go
    if not 0 <= insecure.port <= 65535:
        yield (
            f"--port {insecure.port} must be between 0 and 65535, inclusive. "
            "0 for turning off insecure (HTTP) port"
        )
    if insecure.address:
        try:
            ipaddress.ip_address(insecure.address)
        except ValueError:
            yield f"--address {insecure.address} is an invalid IP address"


def header_mistakes(headers: RequestHeaders, gates: FeatureGates) -> Iterator[str]:
    """Yield what is wrong with the flags about request headers."""
    for flag, values in (
        ("requestheader-username-headers", headers.username_headers),
        ("requestheader-group-headers", headers.group_headers),
        ("requestheader-extra-headers-prefix", headers.extra_prefixes),
        ("requestheader-allowed-names", headers.allowed_names),
        ("requestheader-uid-headers", headers.uid_headers),
    ):
        if any(not value.strip() for value in values):
            yield f"empty value in {go_quote(flag)}"
    if not headers.uid_headers:
        return
    if not gates.enabled("RemoteRequestHeaderUID"):
        yield (
            '--requestheader-uid-headers requires the "RemoteRequestHeaderUID" feature to be '
            "enabled"
        )
    elif not _has(headers.uid_headers, "X-Remote-Uid"):
        yield (
            "--requestheader-uid-headers is set without specifying the standard X-Remote-Uid "
            f"header - {_NO_AGGREGATION}"
        )


def _header_warnings(headers: RequestHeaders) -> Iterator[str]:
    for flag, values, standard, what in (
        ("username-headers", headers.username_headers, "X-Remote-User", "header"),
        ("group-headers", headers.group_headers, "X-Remote-Group", "header"),
        ("extra-headers-prefix", headers.extra_prefixes, "X-Remote-Extra-", "header prefix"),
    ):
        if values and not _has(values, standard):
            yield (
                f"--requestheader-{flag} is set without specifying the standard {standard} {what} "
                f"- {_NO_AGGREGATION}"
            )


def _has(values: Iterable[str], wanted: str) -> bool:
    return any(value.lower() == wanted.lower() for value in values)


def _metric_mistakes(flags: FlagValues) -> Iterator[str]:
    # component-base: metrics/api/v1/validation.go
    major, minor = NEWEST.number
    previous = f"{major}.{minor - 1}"
    version = flags["show-hidden-metrics-for-version"]
    if version not in ("", previous):
        why = (
            f"must be omitted or have the value '{previous}'; only the previous minor version is "
            "allowed"
        )
        yield str(invalid("metrics.showHiddenMetricsForVersion", version, why))
    labels = flags["allow-metric-labels"]
    if any(not _METRIC_LABEL.fullmatch(key) for key in labels):
        why = (
            "must have keys with format `metricName,labelName` where metricName matches "
            '"[a-zA-Z_:][a-zA-Z0-9_:]*" and labelName matches "[a-zA-Z_][a-zA-Z0-9_]*"'
        )
        yield str(invalid("metrics.allowListMapping", labels, why))


def _log_mistakes(flags: FlagValues, gates: FeatureGates) -> Iterator[str]:
    # component-base: logs/api/v1/options.go
    frequency, format = flags["log-flush-frequency"], flags["logging-format"]
    if frequency <= 0:
        yield str(invalid("flushFrequency", frequency, "Must be greater than zero"))
    if format not in (TEXT, JSON):
        yield str(invalid("format", format, "Unsupported log format"))
    elif format == JSON and not gates.enabled("LoggingBetaOptions"):
        why = "Log format json is disabled, see LoggingBetaOptions feature"
        yield str(forbidden("format", why))
    if flags["vmodule"] and format != TEXT:
        yield str(forbidden("vmodule", "Only supported for text log format"))
    if gates.enabled("LoggingAlphaOptions"):
        return
    for kind in (TEXT, JSON):
        for flag, field in (
            ("split-stream", "splitStream"),
            ("info-buffer-size", "infoBufferSize"),
        ):
            if flags[f"log-{kind}-{flag}"]:
                why = "Feature LoggingAlphaOptions is disabled"
                yield str(forbidden(f"options.{kind}.{field}", why))
