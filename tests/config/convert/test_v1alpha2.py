"""v1alpha2: preemption and volume binding are settings, unreserve is a point."""

from __future__ import annotations

from tests.config.convert.older import enable, older, only_profile


def test_preemption_is_switched_off_in_every_profile() -> None:
    found = older("v1alpha2", disablePreemption=True, profiles=[{}, {"schedulerName": "b"}])
    assert found.errors == []
    for profile in found.doc_v1["profiles"]:
        assert {"name": "DefaultPreemption"} in profile["plugins"]["multiPoint"]["disabled"]


def test_preemption_stays_on_otherwise() -> None:
    disabled = only_profile(older("v1alpha2"))["plugins"].get("multiPoint", {}).get("disabled", [])
    assert {"name": "DefaultPreemption"} not in disabled


def test_the_timeout_of_binding_is_volume_bindings() -> None:
    profile = only_profile(older("v1alpha2", bindTimeoutSeconds=7))
    assert {"name": "VolumeBinding", "args": {"bindTimeoutSeconds": 7}} in profile["pluginConfig"]


def test_a_timeout_in_the_args_holds() -> None:
    args = {"name": "VolumeBinding", "args": {"bindTimeoutSeconds": 3}}
    found = older("v1alpha2", bindTimeoutSeconds=7, profiles=[{"pluginConfig": [args]}])
    assert args in only_profile(found)["pluginConfig"]


def test_plugins_of_unreserve_reserve() -> None:
    plugins = {"reserve": enable("Both"), "unreserve": enable("Both", "Alone")}
    found = older("v1alpha2", profiles=[{"plugins": plugins}])
    reserve = only_profile(found)["plugins"]["reserve"]
    assert [one["name"] for one in reserve["enabled"]] == ["Both", "Alone"]
    assert any(
        warning.startswith("profiles[0].plugins.unreserve: unreserve is no longer a point")
        and "Alone is enabled there" in warning
        for warning in found.warnings
    )


def test_extenders_are_read_in_their_older_form() -> None:
    extender = {"urlPrefix": "https://e", "enableHttps": True, "httpTimeout": 2_000_000_000}
    assert older("v1alpha2", extenders=[extender]).doc_v1["extenders"] == [
        {"urlPrefix": "https://e", "enableHTTPS": True, "httpTimeout": "2s"}
    ]
