"""The controllers of a cluster: they turn workloads into pods and clean up after them."""
