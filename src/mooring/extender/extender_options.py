"""The settings of an extender, and what kube-scheduler's configuration must say about it."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlsplit

import msgspec
from msgspec.structs import replace

from mooring.api.durations import Duration
from mooring.config import LoadResult, to_v1, to_yaml
from mooring.config.defaults import EXTENDER_TIMEOUT
from mooring.config.types import Extender, ExtenderManagedResource, ExtenderTLSConfig
from mooring.extender.extender_defaults import PAIR_NAME, PORT
from mooring.extender.extender_profiles import served_verbs, total_weight
from mooring.framework.features import FeatureGates
from mooring.framework.plugin import Plugin
from mooring.registry import Registry
from mooring.serve.serving_options import SecureServing

#: The most bytes of a request. A name needs about 50, a whole node some thousands.
MAX_REQUEST = 16 * 2**20


class ExtenderOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a command line asks for, checked."""

    config: LoadResult
    registry: Registry
    features: FeatureGates
    plugins: tuple[type[Plugin], ...] = ()
    kubeconfig: str = ""
    serving: SecureServing = SecureServing(port=PORT, pair_name=PAIR_NAME)
    #: Whether plain HTTP is served.
    plain_http: bool = False
    #: The authorities of the clients that may ask; everyone may if empty.
    client_ca_file: str = ""
    max_request: int = MAX_REQUEST
    managed_resources: tuple[ExtenderManagedResource, ...] = ()
    ignorable: bool = False
    node_cache_capable: bool = True
    #: How kube-scheduler reaches the extender; by default at localhost.
    url: str = ""
    timeout: Duration = EXTENDER_TIMEOUT

    @property
    def url_prefix(self) -> str:
        """Return the URL for kube-scheduler's configuration."""
        scheme = "http" if self.plain_http else "https"
        return self.url or f"{scheme}://localhost:{self.serving.port}"


def extender_section(options: ExtenderOptions, authority: bytes = b"") -> Extender:
    """Return the item of `extenders` for kube-scheduler's configuration.

    `authority` is the certificate that kube-scheduler verifies the extender with.
    """
    profiles = options.config.profiles
    verbs = served_verbs(profiles)
    is_secure = urlsplit(options.url_prefix).scheme == "https"
    return Extender(
        url_prefix=options.url_prefix,
        filter_verb="filter" if "filter" in verbs else "",
        prioritize_verb="prioritize" if "prioritize" in verbs else "",
        preempt_verb="preempt" if "preempt" in verbs else "",
        bind_verb="bind" if "bind" in verbs else "",
        weight=total_weight(profiles) if "prioritize" in verbs else 0,
        enable_https=is_secure,
        tls_config=ExtenderTLSConfig(ca_data=authority) if is_secure and authority else None,
        http_timeout=options.timeout,
        node_cache_capable=options.node_cache_capable,
        managed_resources=options.managed_resources,
        ignorable=options.ignorable,
    )


def section_yaml(options: ExtenderOptions, sections: Sequence[Extender]) -> str:
    """Return the `extenders` of a KubeSchedulerConfiguration as YAML."""
    data = to_v1(replace(options.config.config, extenders=tuple(sections)))
    return to_yaml({"extenders": data["extenders"]}, sort_keys=False)
