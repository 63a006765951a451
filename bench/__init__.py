"""Benchmarks: quality and cost, each against its limit in the same run."""
