"""Choosing a node: the profile's compiled call plan, filtering, scoring, and the cycle that runs them."""
