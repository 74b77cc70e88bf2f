"""The arguments of load-aware plugins name a source that can be used."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from mooring.contrib.load import LoadArgs

ADDRESS = "http://watcher.example:2020"
SIGNAL_FX = {"type": "SignalFx", "token": "t"}


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param({}, id="by default the metrics server"),
        pytest.param({"watcherAddress": ADDRESS}, id="a load watcher"),
        pytest.param(
            {"metricProvider": {"type": "Prometheus", "address": "http://p", "token": "t"}},
            id="a Prometheus",
        ),
        pytest.param(
            {"watcherAddress": "", "metricProvider": {"type": "KubernetesMetricsServer"}},
            id="an empty address with a provider",
        ),
        pytest.param(
            {"watcherAddress": ADDRESS, "metricProvider": SIGNAL_FX},
            id="a load watcher goes before a provider that is not supported",
        ),
        pytest.param(
            {"metricProvider": {"type": "Prometheus", "caFile": "ca.crt"}}, id="authorities"
        ),
    ],
)
def test_sources_that_can_be_used(raw: dict[str, Any]) -> None:
    msgspec.convert(raw, LoadArgs).check()


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        pytest.param(
            {"watcherAddress": ""}, r"metricProvider\.type must be one of", id="an empty address"
        ),
        pytest.param(
            {"metricProvider": SIGNAL_FX}, "SignalFx is not supported: run a load", id="SignalFx"
        ),
        pytest.param(
            {
                "metricProvider": {
                    "type": "Prometheus",
                    "caFile": "ca.crt",
                    "insecureSkipVerify": True,
                }
            },
            "exclude each other",
            id="authorities for a certificate that is not verified",
        ),
    ],
)
def test_sources_that_cannot_be_used(raw: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        msgspec.convert(raw, LoadArgs).check()
