"""Programs of ranks: readers of traces and workloads, and generated training and inference steps.

A program has for each rank sends, receives and computations with dependencies. `formats.read` reads a file of
any known format, `building.Builder` builds a program, and `_core.Program` is its checked form, which GOAL
schedules are read from and written to.
"""
