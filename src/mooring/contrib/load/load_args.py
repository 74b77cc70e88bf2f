"""LoadArgs: the arguments that say where measurements come from."""

# scheduler-plugins: apis/config/v1/types.go (TrimaranSpec), pkg/trimaran/collector.go (checkSpecs)

from __future__ import annotations

from typing import Literal

import msgspec

KUBERNETES_METRICS_SERVER = "KubernetesMetricsServer"
PROMETHEUS = "Prometheus"
SIGNAL_FX = "SignalFx"
PROVIDERS = (KUBERNETES_METRICS_SERVER, PROMETHEUS, SIGNAL_FX)

NO_SIGNAL_FX = (
    "metricProvider.type SignalFx is not supported: run a load watcher that reads SignalFx, and "
    "give its address as watcherAddress"
)


class MetricProvider(msgspec.Struct, frozen=True, rename="camel"):
    """A source of measurements other than a load watcher."""

    #: The kind of the source.
    type: Literal["KubernetesMetricsServer", "Prometheus", "SignalFx", ""] = ""
    #: The address of a Prometheus.
    address: str = ""
    #: The token to authenticate with.
    token: str = ""
    #: Whether the certificate of a Prometheus is not verified; None stands for true, unless
    #: there is a file of authorities.
    insecure_skip_verify: bool | None = None
    #: A file with the authorities that may have signed the certificate. Only Mooring has it.
    ca_file: str = ""


class LoadArgs(msgspec.Struct, frozen=True, rename="camel"):
    """Where measurements come from: a load watcher, else a metric provider."""

    #: The source if there is no load watcher; its type is KubernetesMetricsServer by default.
    metric_provider: MetricProvider = MetricProvider()
    #: None if no address is given; then the metric provider counts.
    watcher_address: str | None = None

    def check(self) -> None:
        """Raise ValueError if there is no source, or one that cannot be used."""
        provider = self.metric_provider
        if self.watcher_address:
            return
        if self.watcher_address == "" and not provider.type:
            raise ValueError(f"metricProvider.type must be one of {', '.join(PROVIDERS)}")
        if provider.type == SIGNAL_FX:
            raise ValueError(NO_SIGNAL_FX)
        if provider.ca_file and provider.insecure_skip_verify:
            raise ValueError(
                "metricProvider.caFile and insecureSkipVerify: true exclude each other: a "
                "certificate is verified or not"
            )
