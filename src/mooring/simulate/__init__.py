"""Scheduling without a cluster: the whole scheduler in memory, under a clock of its own."""
