"""Mooring and kube-scheduler in turn on the same API server, cluster and pods."""
