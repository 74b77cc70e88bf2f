"""Fake nodes: what kubelets report, without anything that runs."""
