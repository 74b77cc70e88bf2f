"""Fake nodes: kubelets that report nodes and pods without machines behind them."""
