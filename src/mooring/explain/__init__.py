"""Decisions for people: which plugin said what of which node, and how the choice came about."""
