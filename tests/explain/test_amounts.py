"""Amounts of resources in texts."""

from __future__ import annotations

import pytest

from mooring.explain.amounts import amount_text, diagnosis_text, missing_text, shortfall_text
from mooring.framework.diagnosis import Shortfall

GI = 2**30


@pytest.mark.parametrize(
    ("resource", "amount", "down", "up"),
    [
        ("cpu", 50, "50m", "50m"),
        ("cpu", 2000, "2", "2"),
        ("cpu", -500, "-500m", "-500m"),
        ("memory", 8 * GI, "8Gi", "8Gi"),
        ("memory", 8 * GI + 1, "8Gi", "8193Mi"),
        ("memory", 5, "5", "5"),
        ("memory", -GI, "-1Gi", "-1Gi"),
        ("hugepages-2Mi", 4 * 2**20, "4Mi", "4Mi"),
        ("example.com/gpu", 3, "3", "3"),
    ],
)
def test_an_amount_is_rounded_in_the_safe_direction(
    resource: str, amount: int, down: str, up: str
) -> None:
    assert amount_text(resource, amount) == down
    assert amount_text(resource, amount, up=True) == up


def test_one_short_resource_shows_what_is_asked_and_free() -> None:
    short = Shortfall.of("memory", 40 * GI, 32 * GI)
    assert shortfall_text((short,)) == "memory 8Gi short (asks 40Gi, 32Gi free)"


def test_several_short_resources_are_listed() -> None:
    short = (Shortfall.of("memory", 2 * GI, GI), Shortfall.of("cpu", 150, 100))
    assert shortfall_text(short) == "memory 1Gi, cpu 50m short"
    assert diagnosis_text(short) == "memory 1Gi, cpu 50m short"


def test_a_diagnosis_may_be_a_text_or_nothing() -> None:
    assert diagnosis_text("no such zone") == "no such zone"
    assert diagnosis_text(None) == diagnosis_text(()) == ""


def test_amounts_in_a_sentence() -> None:
    assert missing_text({"cpu": 50}) == "50m of cpu"
    assert missing_text({"cpu": 50, "memory": GI, "pods": 1}) == (
        "50m of cpu, 1Gi of memory and 1 of pods"
    )
