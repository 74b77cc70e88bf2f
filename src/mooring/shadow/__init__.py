"""Comparisons of decisions: with those of another scheduler, or of another configuration."""
