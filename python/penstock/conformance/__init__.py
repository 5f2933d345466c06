"""Conformance cases against a device that takes frames and says what is in force."""

from .device import Device, Operational
from .registry import Case, Outcome, Trial, Verdict, cases, run

__all__ = ["Case", "Device", "Operational", "Outcome", "Trial", "Verdict", "cases", "run"]
