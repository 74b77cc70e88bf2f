"""Scheduling without a cluster: the whole scheduler in memory, on a virtual clock."""
