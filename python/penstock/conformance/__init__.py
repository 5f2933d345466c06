"""Conformance cases for devices that accept frames and report their operational parameters."""

from .device import Device, Operational
from .registry import Case, Outcome, Trial, Verdict, cases, run

__all__ = ["Case", "Device", "Operational", "Outcome", "Trial", "Verdict", "cases", "run"]
