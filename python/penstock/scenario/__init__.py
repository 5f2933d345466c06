"""Scenario builder for Python, its keys, and constructors for the values of keys."""

from .builder import Scenario
from .parts import FlowControl, Topology

__all__ = ["FlowControl", "Scenario", "Topology"]
