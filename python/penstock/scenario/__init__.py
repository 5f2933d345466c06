"""Scenarios from Python: the builder, its keys, and the values of a flow's keys."""

from .builder import Scenario
from .parts import FlowControl, Topology

__all__ = ["FlowControl", "Scenario", "Topology"]
