"""Preemption: candidates, dry runs, victims and evictions, shared by plugins at PostFilter."""
