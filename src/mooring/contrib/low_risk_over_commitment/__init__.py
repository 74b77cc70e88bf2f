"""LowRiskOverCommitment: avoid nodes on which limits and load make overuse likely."""

from mooring.contrib.low_risk_over_commitment.plugin import LowRiskOverCommitment

__all__ = ["LowRiskOverCommitment"]
