"""The extenders of a configuration."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.errors import ConfigError
from mooring.extenders import Extenders, longest_wait
from tests.extenders.webhooks import make_config


def test_ignorable_extenders_are_asked_last() -> None:
    configs = [
        make_config(urlPrefix="http://a", ignorable=True),
        make_config(urlPrefix="http://b"),
        make_config(urlPrefix="http://c", ignorable=True),
        make_config(urlPrefix="http://d"),
    ]
    names = [extender.name for extender in Extenders(configs)]
    assert names == ["http://b", "http://d", "http://a", "http://c"]
    assert len(Extenders()) == 0


@pytest.mark.parametrize(
    ("configs", "seconds"),
    [
        pytest.param([], 0, id="no extenders"),
        pytest.param(
            [{"filterVerb": "f", "httpTimeout": "30s"}], 60, id="filters, also the nominated node"
        ),
        pytest.param(
            [{"filterVerb": "f", "prioritizeVerb": "p", "preemptVerb": "q", "httpTimeout": "30s"}],
            90,
            id="prioritizes or preempts in one cycle",
        ),
        pytest.param([{"bindVerb": "b", "httpTimeout": "30s"}], 0, id="binds outside of the cycle"),
        pytest.param([{"filterVerb": "f"}], 10, id="without a timeout of its own"),
        pytest.param(
            [{"filterVerb": "f", "httpTimeout": "-1s"}], 0, id="without any, which sets no limit"
        ),
        pytest.param(
            [{"filterVerb": "f", "httpTimeout": "30s"}, {"preemptVerb": "q", "httpTimeout": "7s"}],
            67,
            id="one after the other",
        ),
    ],
)
def test_how_long_a_cycle_may_wait(configs: list[dict[str, Any]], seconds: float) -> None:
    assert longest_wait([make_config(urlPrefix="http://a", **one) for one in configs]) == seconds


def test_an_extender_that_cannot_be_built_is_named() -> None:
    config = make_config(urlPrefix="https://a", tlsConfig={"caFile": "/nowhere"})
    with pytest.raises(ConfigError) as raised:
        Extenders([config])
    assert str(raised.value) == (
        "couldn't build extenders: https://a: cannot read /nowhere: No such file or directory"
    )
