"""Benchmarks of the scheduling core: whole cycles in one process, without HTTP."""
