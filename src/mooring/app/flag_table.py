"""Every flag: those of kube-scheduler 1.37, those it has since removed, and Mooring's own."""

# kube-scheduler: cmd/kube-scheduler/app/options; apiserver pkg/server/options/{serving,
# authentication,authorization}.go; component-base config/options, compatibility, metrics, logs

from __future__ import annotations

from mooring.api.durations import Duration
from mooring.api.quantity import Quantity
from mooring.app.flag_values import (
    BOOL,
    CERT_KEYS,
    DURATION,
    FLOAT32,
    GATES,
    INT,
    INT32,
    INT32S,
    IP,
    LEVEL,
    QUANTITY,
    STRING,
    STRING_MAP,
    STRINGS,
    VERSION,
    VMODULE,
    check_explain_memory,
    check_livez_timeout,
    check_response_size,
)
from mooring.app.flags import Flag, FlagGroup
from mooring.config import defaults
from mooring.framework.features import describe_features
from mooring.framework.releases import NEWEST, RELEASES
from mooring.journal.journal_limits import check_max_bytes

_IGNORED = "Ignored with --config."
#: For flags of kube-scheduler that Mooring has no use for.
_NO_EFFECT = "Accepted for compatibility; it has no effect."
_TEN_SECONDS = Duration.from_seconds(10)

MISC = FlagGroup(
    "Misc",
    (
        Flag("config", STRING, "", "The configuration file."),
        Flag("master", STRING, "", "The API server's address; overrides the kubeconfig."),
        Flag(
            "write-config-to",
            STRING,
            "",
            "Write the configuration with every default to this file and exit.",
        ),
    ),
)

SECURE_SERVING = FlagGroup(
    "Secure serving",
    (
        Flag("bind-address", IP, "0.0.0.0", "The address on which --secure-port listens."),
        Flag(
            "cert-dir",
            STRING,
            "",
            "The folder with kube-scheduler.crt and kube-scheduler.key, created if they are "
            "missing. Ignored with --tls-cert-file and --tls-private-key-file.",
        ),
        Flag("disable-http2-serving", BOOL, False, _NO_EFFECT),
        Flag("http2-max-streams-per-connection", INT, 0, _NO_EFFECT),
        Flag(
            "permit-address-sharing",
            BOOL,
            False,
            "Listen with SO_REUSEADDR, so that sockets in TIME_WAIT do not block the port.",
        ),
        Flag(
            "permit-port-sharing",
            BOOL,
            False,
            "Listen with SO_REUSEPORT: several processes may share the port.",
        ),
        Flag("secure-port", INT, 10259, "The port for HTTPS; 0 disables serving."),
        Flag(
            "tls-cert-file",
            STRING,
            "",
            "The certificate for HTTPS, followed by those of its authorities. Without it and "
            "--tls-private-key-file a self-signed one is created.",
        ),
        Flag("tls-cipher-suites", STRINGS, (), "The cipher suites to offer, by their Go names."),
        Flag("tls-curve-preferences", INT32S, (), _NO_EFFECT),
        Flag(
            "tls-min-version",
            STRING,
            "",
            "The lowest TLS version to accept: VersionTLS10, VersionTLS11, VersionTLS12 (the "
            "default), VersionTLS13.",
        ),
        Flag("tls-private-key-file", STRING, "", "The private key of --tls-cert-file."),
        Flag(
            "tls-sni-cert-key",
            CERT_KEYS,
            (),
            "A further certificate and key, and the names they are for: "
            "cert.crt,cert.key:*.foo.com,foo.com."
            " Without names, those of the certificate are used. May be repeated.",
        ),
    ),
)

AUTHENTICATION = FlagGroup(
    "Authentication",
    (
        Flag(
            "authentication-kubeconfig",
            STRING,
            "",
            "A kubeconfig that may create tokenreviews.authentication.k8s.io. Without it, every "
            "token is anonymous and the client CA is not read from the cluster.",
        ),
        Flag(
            "authentication-skip-lookup",
            BOOL,
            False,
            "Do not read the client CA from the cluster.",
        ),
        Flag(
            "authentication-token-webhook-cache-ttl",
            DURATION,
            _TEN_SECONDS,
            "How long the results of token reviews are cached.",
        ),
        Flag(
            "authentication-tolerate-lookup-failure",
            BOOL,
            True,
            "Continue if the client CA cannot be read; requests may then be anonymous.",
        ),
        Flag(
            "client-ca-file",
            STRING,
            "",
            "CAs whose client certificates are accepted; the common name is the user.",
        ),
        Flag(
            "requestheader-allowed-names",
            STRINGS,
            (),
            "Common names of proxies that may name the user in headers; by default, all that "
            "--requestheader-client-ca-file has signed.",
        ),
        Flag(
            "requestheader-client-ca-file",
            STRING,
            "",
            "CAs of the proxies that may name the user in headers.",
        ),
        Flag(
            "requestheader-extra-headers-prefix",
            STRINGS,
            ("x-remote-extra-",),
            "Prefixes of headers with more information about the user.",
        ),
        Flag("requestheader-group-headers", STRINGS, ("x-remote-group",), "Headers with groups."),
        Flag("requestheader-uid-headers", STRINGS, (), "Headers with the user's UID."),
        Flag(
            "requestheader-username-headers",
            STRINGS,
            ("x-remote-user",),
            "Headers with the user's name.",
        ),
    ),
)

AUTHORIZATION = FlagGroup(
    "Authorization",
    (
        Flag(
            "authorization-always-allow-paths",
            STRINGS,
            ("/healthz", "/readyz", "/livez"),
            "Paths that need no authorization; a * at the end matches the rest of a path.",
        ),
        Flag(
            "authorization-kubeconfig",
            STRING,
            "",
            "A kubeconfig that may create subjectaccessreviews.authorization.k8s.io. Without it, "
            "all other paths are refused.",
        ),
        Flag(
            "authorization-webhook-cache-authorized-ttl",
            DURATION,
            _TEN_SECONDS,
            "How long a permission is cached.",
        ),
        Flag(
            "authorization-webhook-cache-unauthorized-ttl",
            DURATION,
            _TEN_SECONDS,
            "How long a refusal is cached.",
        ),
    ),
)

DEPRECATED = FlagGroup(
    "Deprecated",
    (
        Flag("contention-profiling", BOOL, True, f"DEPRECATED: {_NO_EFFECT}"),
        Flag(
            "kube-api-burst",
            INT32,
            defaults.BURST,
            f"DEPRECATED: the burst of requests to the API server. {_IGNORED}",
        ),
        Flag(
            "kube-api-content-type",
            STRING,
            defaults.CONTENT_TYPE,
            "DEPRECATED: shown in the configuration; requests always use JSON.",
        ),
        Flag(
            "kube-api-qps",
            FLOAT32,
            defaults.QPS,
            f"DEPRECATED: the number of requests per second to the API server. {_IGNORED}",
        ),
        Flag("kubeconfig", STRING, "", f"DEPRECATED: the kubeconfig. {_IGNORED}"),
        Flag(
            "pod-max-in-unschedulable-pods-duration",
            DURATION,
            Duration.from_seconds(300),
            "DEPRECATED: how long an unschedulable pod waits before it is retried although "
            "nothing has changed.",
        ),
        Flag(
            "profiling",
            BOOL,
            True,
            f"DEPRECATED: offer /debug/flags on --secure-port. {_IGNORED}",
        ),
    ),
)

LEADER_ELECTION = FlagGroup(
    "Leader election",
    (
        Flag(
            "leader-elect",
            BOOL,
            defaults.LEADER_ELECT,
            "Schedule only while holding the lease, for replicas of one scheduler.",
        ),
        Flag(
            "leader-elect-lease-duration",
            DURATION,
            defaults.LEASE_DURATION,
            "How long other candidates wait after the last renewal before one of them takes over.",
        ),
        Flag(
            "leader-elect-renew-deadline",
            DURATION,
            defaults.RENEW_DEADLINE,
            "How long a leader tries to renew before it gives up; less than the lease's duration.",
        ),
        Flag(
            "leader-elect-resource-lock",
            STRING,
            defaults.RESOURCE_LOCK,
            "The kind of the lock; only leases are supported.",
        ),
        Flag(
            "leader-elect-resource-name",
            STRING,
            defaults.RESOURCE_NAME,
            "The name of the lease.",
        ),
        Flag(
            "leader-elect-resource-namespace",
            STRING,
            defaults.RESOURCE_NAMESPACE,
            "The namespace of the lease.",
        ),
        Flag(
            "leader-elect-retry-period",
            DURATION,
            defaults.RETRY_PERIOD,
            "The pause between attempts to acquire or renew.",
        ),
    ),
)

#: The fields of `LeaderElection` that its flags set.
LEADER_ELECTION_FIELDS = {
    "leader-elect": "leader_elect",
    "leader-elect-lease-duration": "lease_duration",
    "leader-elect-renew-deadline": "renew_deadline",
    "leader-elect-retry-period": "retry_period",
    "leader-elect-resource-lock": "resource_lock",
    "leader-elect-resource-name": "resource_name",
    "leader-elect-resource-namespace": "resource_namespace",
}

FEATURE_GATES = FlagGroup(
    "Feature gate",
    (
        Flag(
            "emulated-version",
            STRINGS,
            (),
            "The release whose behaviour is emulated, major.minor or kube=major.minor: "
            f"{' or '.join(release.version for release in RELEASES)}"
            f" (default: {NEWEST.version}).",
        ),
        Flag(
            "feature-gates",
            GATES,
            (),
            "\n".join(
                ("Feature gates to set: A=true,B=false. May be repeated.", *describe_features())
            ),
        ),
        Flag(
            "min-compatibility-version",
            STRINGS,
            (),
            "The oldest release of the control plane's other components, major.minor; at most "
            "the emulated one. By default the release before it. Some gates are enabled only "
            "if it is the emulated one.",
        ),
    ),
)

METRICS = FlagGroup(
    "Metrics",
    (
        Flag(
            "allow-metric-labels",
            STRING_MAP,
            {},
            "metric,label=a,b: the values of a label to show; others are shown as 'unexpected'.",
        ),
        Flag(
            "allow-metric-labels-manifest",
            STRING,
            "",
            "A file that maps metric,label to values; --allow-metric-labels takes precedence.",
        ),
        Flag("disabled-metrics", STRINGS, (), "Metrics to omit, by their full names."),
        Flag(
            "show-hidden-metrics-for-version",
            STRING,
            "",
            f"Show the metrics hidden since this version, the previous minor one. {_NO_EFFECT}",
        ),
    ),
)

LOGS = FlagGroup(
    "Logs",
    (
        Flag("log-flush-frequency", DURATION, Duration.from_seconds(5), _NO_EFFECT),
        Flag("log-json-info-buffer-size", QUANTITY, Quantity(), _NO_EFFECT),
        Flag("log-json-split-stream", BOOL, False, _NO_EFFECT),
        Flag("log-text-info-buffer-size", QUANTITY, Quantity(), _NO_EFFECT),
        Flag("log-text-split-stream", BOOL, False, _NO_EFFECT),
        Flag("logging-format", STRING, "text", 'The log format: "text" or "json".'),
        Flag("v", LEVEL, 0, "The log verbosity.", short="v"),
        Flag("vmodule", VMODULE, (), "The log verbosity by file, for --logging-format=text."),
    ),
)

GLOBAL = FlagGroup(
    "Global",
    (
        Flag("help", BOOL, False, "Print this text.", short="h"),
        Flag("version", VERSION, "false", "Print the version and exit; --version=raw prints more."),
    ),
)

#: Every group that kube-scheduler --help shows, in its order.
KUBE_SCHEDULER = (
    MISC,
    SECURE_SERVING,
    AUTHENTICATION,
    AUTHORIZATION,
    DEPRECATED,
    LEADER_ELECTION,
    FEATURE_GATES,
    METRICS,
    LOGS,
    GLOBAL,
)

#: Flags of kube-scheduler 1.17 to 1.22.
REMOVED = FlagGroup(
    "Removed (still understood)",
    (
        Flag("address", STRING, "0.0.0.0", f"DEPRECATED: where --port listens. {_IGNORED}"),
        Flag(
            "algorithm-provider",
            STRING,
            "",
            f"DEPRECATED: DefaultProvider or ClusterAutoscalerProvider. {_IGNORED}",
        ),
        Flag(
            "hard-pod-affinity-symmetric-weight",
            INT32,
            1,
            f"DEPRECATED: InterPodAffinity's hardPodAffinityWeight. {_IGNORED}",
        ),
        Flag(
            "lock-object-name",
            STRING,
            defaults.RESOURCE_NAME,
            f"DEPRECATED: see --leader-elect-resource-name. {_IGNORED}",
        ),
        Flag(
            "lock-object-namespace",
            STRING,
            defaults.RESOURCE_NAMESPACE,
            f"DEPRECATED: see --leader-elect-resource-namespace. {_IGNORED}",
        ),
        Flag("policy-config-file", STRING, "", "DEPRECATED: a file with a Policy."),
        Flag(
            "policy-configmap",
            STRING,
            "",
            "DEPRECATED: a ConfigMap with a Policy at the key policy.cfg.",
        ),
        Flag(
            "policy-configmap-namespace",
            STRING,
            "kube-system",
            "DEPRECATED: the namespace of --policy-configmap.",
        ),
        Flag(
            "port",
            INT,
            0,
            "DEPRECATED: the port for plain HTTP without authentication; 0 disables it. "
            f"See --secure-port. {_IGNORED}",
        ),
        Flag("scheduler-name", STRING, "", f"DEPRECATED: the profile's schedulerName. {_IGNORED}"),
        Flag(
            "use-legacy-policy-config",
            BOOL,
            False,
            "DEPRECATED: use --policy-config-file, not --policy-configmap.",
        ),
    ),
)

MOORING = FlagGroup(
    "Mooring",
    (
        Flag(
            "livez-scheduling-cycle-timeout",
            DURATION,
            Duration.from_seconds(60),
            "How long a step of a scheduling cycle, such as filtering one node, or a plugin that "
            "blocks the scheduling loop may take before /livez fails. Raised to the sum of the "
            "timeouts of the requests to extenders that one cycle may wait for.",
            check=check_livez_timeout,
        ),
        Flag(
            "plugin",
            STRINGS,
            (),
            "Register a plugin, FILE.py:Class or package.module:Class, and without --config enable "
            "it. May be repeated.",
        ),
        Flag(
            "extender-max-response-size",
            QUANTITY,
            Quantity("10Mi"),
            "The largest response of an extender, after inflating. A larger one is an error of "
            "that extender.",
            check=check_response_size,
        ),
        Flag(
            "journal",
            STRING,
            "",
            "Write a journal to this folder, which is created if it does not exist: every change "
            "and decision, for `mooring replay`.",
        ),
        Flag(
            "journal-max-bytes",
            QUANTITY,
            Quantity("1Gi"),
            "The most bytes of the journal; the oldest part is removed.",
            check=check_max_bytes,
        ),
        Flag(
            "explain-memory",
            QUANTITY,
            Quantity("16Mi"),
            "How much memory the last scheduling attempts of pods may take, which explain where a "
            "pod is or why it waits; 0 keeps none.",
            check=check_explain_memory,
        ),
    ),
)

ALL = (MOORING, *KUBE_SCHEDULER, REMOVED)

#: Flags that are accepted and change nothing; the user is warned about them.
WITHOUT_EFFECT = frozenset(
    flag.name for group in ALL for flag in group.flags if flag.help.endswith(_NO_EFFECT)
)
