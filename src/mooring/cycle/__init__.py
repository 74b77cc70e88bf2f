"""Choosing a node: a profile's compiled call plan, filtering, scoring, and the cycle."""
