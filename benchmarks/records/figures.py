"""Figures with a limit: a ratio of two measurements of the same run."""

from __future__ import annotations

import msgspec


class Figure(msgspec.Struct, frozen=True):
    """One ratio or amount, and the most that it may be."""

    name: str
    value: float
    limit: float
    #: "of" for shares in percent, "times" for multiples, or a unit.
    unit: str = "times"
    #: What the figure is made of.
    detail: str = ""

    @property
    def line(self) -> str:
        """Return the figure beside its limit."""
        return (
            f"{self.name:<50}{_shown(self.value, self.unit):>14}"
            f"{_shown(self.limit, self.unit):>14}   {self.detail}"
        ).rstrip()

    @property
    def missed(self) -> str:
        """Return what was missed; "" if nothing was."""
        if self.value <= self.limit:
            return ""
        shown, limit = _shown(self.value, self.unit), _shown(self.limit, self.unit)
        return f"{self.name}: {shown}, to reach {limit}"


def heading() -> str:
    """Return the line above the figures."""
    return f"{'':<50}{'measured':>14}{'at most':>14}"


def _shown(value: float, unit: str) -> str:
    return f"{value:.1%}" if unit == "of" else f"{value:.2f} {unit}"
