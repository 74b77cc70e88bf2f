"""What kube-scheduler's configuration says about an extender."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from mooring import Plugin
from mooring.api.durations import Duration
from mooring.config.load import load_config_data
from mooring.config.types import Extender, ExtenderManagedResource
from mooring.extender.extender_options import ExtenderOptions, extender_section, section_yaml
from mooring.extender.extender_profiles import load_served
from mooring.framework.features import FeatureGates
from mooring.registry import default_registry
from mooring.serve.certificates import authority_in, self_signed_pair
from mooring.serve.serving_options import SecureServing
from tests.extender.extender_scenes import OpenNodes, Stars


class Binder(Plugin):
    """A plugin that binds."""

    def bind(self, state: Any, pod: Any, node_name: str) -> None: ...


def make_options(*plugins: type[Plugin], **more: Any) -> ExtenderOptions:
    registry, gates = default_registry(plugins), FeatureGates()
    config = load_served(None, plugins, registry, gates)
    return ExtenderOptions(config=config, registry=registry, features=gates, **more)


def read_back(text: str) -> Extender:
    """Return the section as a configuration file has it."""
    document = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        **yaml.safe_load(text),
    }
    (found,) = load_config_data(document).config.extenders
    return found


@pytest.mark.parametrize(
    ("plugins", "verbs", "weight"),
    [
        ((OpenNodes,), ("filter", "", "preempt", ""), 0),
        ((Stars,), ("", "prioritize", "", ""), 1),
        ((Binder,), ("", "", "", "bind"), 0),
        ((OpenNodes, Stars, Binder), ("filter", "prioritize", "preempt", "bind"), 1),
    ],
    ids=["a filter", "a score", "a bind", "all"],
)
def test_the_section_names_the_verbs_that_are_served(
    plugins: tuple[type[Plugin], ...], verbs: tuple[str, ...], weight: int
) -> None:
    options = make_options(*plugins)
    found = read_back(section_yaml(options, [extender_section(options)]))
    named = (found.filter_verb, found.prioritize_verb, found.preempt_verb, found.bind_verb)
    assert named == verbs
    assert found.weight == weight
    assert found.url_prefix == "https://localhost:8443"
    assert found.enable_https
    assert found.tls_config is None
    assert found.node_cache_capable
    assert not found.ignorable


def test_everything_that_was_asked_for_is_in_the_section() -> None:
    authority = authority_in(self_signed_pair("extender").certificate)
    resource = ExtenderManagedResource(name="example.com/gpu", ignored_by_scheduler=True)
    options = make_options(
        OpenNodes,
        url="https://extender.example:444",
        managed_resources=(resource,),
        ignorable=True,
        node_cache_capable=False,
        timeout=Duration.from_seconds(2),
    )
    found = read_back(section_yaml(options, [extender_section(options, authority)]))
    assert found.url_prefix == "https://extender.example:444"
    assert found.tls_config is not None
    assert found.tls_config.ca_data == authority
    assert found.managed_resources == (resource,)
    assert found.ignorable
    assert not found.node_cache_capable
    assert found.http_timeout.seconds == 2


def test_plain_http_has_no_certificate() -> None:
    options = make_options(OpenNodes, plain_http=True, serving=SecureServing(port=80))
    found = read_back(section_yaml(options, [extender_section(options, b"authority")]))
    assert found.url_prefix == "http://localhost:80"
    assert not found.enable_https
    assert found.tls_config is None
