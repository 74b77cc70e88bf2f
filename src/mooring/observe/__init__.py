"""Metrics, logs and the clock."""
