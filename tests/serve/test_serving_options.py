"""The settings of serving."""

from __future__ import annotations

import pytest

from mooring.serve.serving_options import Authorization, CertKey, RequestHeaders, SecureServing


@pytest.mark.parametrize(
    ("names", "text"), [((), "a.crt,a.key"), (("x", "*.y"), "a.crt,a.key:x,*.y")]
)
def test_a_pair_is_shown_as_its_flag_is_written(names: tuple[str, ...], text: str) -> None:
    assert str(CertKey("a.crt", "a.key", names)) == text


def test_the_defaults_are_kube_schedulers() -> None:
    # kube-scheduler: cmd/kube-scheduler/app/options/options.go
    assert (SecureServing().bind_address, SecureServing().port) == ("0.0.0.0", 10259)
    assert Authorization().always_allow_paths == ("/healthz", "/readyz", "/livez")
    assert RequestHeaders().username_headers == ("x-remote-user",)
