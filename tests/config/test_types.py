"""The Structs of a configuration."""

from __future__ import annotations

import msgspec
import pytest

from mooring.config.types import Extender, ExtenderTLSConfig, PluginRef, Plugins, PluginSet
from mooring.framework.points import CONFIGURABLE_POINTS


def test_every_point_has_a_set_of_plugins_under_its_key() -> None:
    keys = [key for key, _ in Plugins(pod_group_post_filter=PluginSet()).sets()]
    assert {point.key for point in CONFIGURABLE_POINTS} | {"multiPoint"} <= {*keys}
    assert len(keys) == len(set(keys))


def test_a_set_is_found_by_the_key_of_the_file() -> None:
    chosen = PluginSet(enabled=(PluginRef(name="Mine", weight=2),))
    plugins = Plugins(pre_filter=chosen)
    assert plugins.at("preFilter") is chosen
    assert plugins.at("filter") == PluginSet()
    assert dict(plugins.sets())["preFilter"] is chosen
    with pytest.raises(KeyError):
        plugins.at("pre_filter")


@pytest.mark.parametrize(
    ("struct", "names"),
    [
        (Extender, {"urlPrefix", "enableHTTPS", "tlsConfig", "httpTimeout", "nodeCacheCapable"}),
        (ExtenderTLSConfig, {"caFile", "caData", "certFile", "serverName"}),
    ],
)
def test_fields_have_kube_schedulers_names(struct: type[msgspec.Struct], names: set[str]) -> None:
    assert names <= {field.encode_name for field in msgspec.structs.fields(struct)}
