from __future__ import annotations

import pytest

from mooring.client.environment_proxy import environment_proxy


@pytest.mark.parametrize(
    ("server", "environment", "proxy"),
    [
        ("https://server", {"https_proxy": "http://p:1"}, "http://p:1"),
        ("https://server", {"https_proxy": "p:1"}, "http://p:1"),
        ("https://server", {"http_proxy": "http://p:1"}, ""),
        ("https://server", {"https_proxy": "http://p:1", "no_proxy": "server"}, ""),
        ("https://10.0.0.1", {"https_proxy": "http://p:1", "no_proxy": "a,10.0.0.0/8"}, ""),
        ("https://11.0.0.1", {"https_proxy": "p:1", "no_proxy": "10.0.0.0/8"}, "http://p:1"),
        ("https://[fd00::1]:443", {"https_proxy": "p:1", "no_proxy": "fd00::/8"}, ""),
        ("https://127.0.0.1:6443", {"https_proxy": "http://p:1"}, ""),
        ("https://localhost:6443", {"https_proxy": "http://p:1"}, ""),
        ("https://[::1]:6443", {"https_proxy": "http://p:1"}, ""),
    ],
)
def test_the_environment_may_name_a_proxy(
    server: str, environment: dict[str, str], proxy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "https_proxy", "no_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert environment_proxy(server) == proxy
