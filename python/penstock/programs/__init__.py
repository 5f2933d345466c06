"""Programs of ranks: readers of traces and workloads, and generated training and inference steps.

A program consists of the sends, receives and computations of each rank, with their dependencies.
`formats.read` reads a file of any known format, and `building.Builder` builds a program. `_core.Program` is
the validated form, which can be read from and written to GOAL schedules.
"""
