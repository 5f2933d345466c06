"""Experiments over many runs: sweeps, searches and sensitivity analyses."""
