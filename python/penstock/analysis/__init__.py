"""Interpretation of measurements: causes of pauses and losses, and distance from fair shares."""
