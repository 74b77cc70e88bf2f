"""Mooring: the Kubernetes scheduling framework in Python."""
