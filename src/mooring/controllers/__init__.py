"""The controllers of a cluster: what turns workloads into pods, and keeps house."""
