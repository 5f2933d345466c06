"""Fabrics, traffic and settings in other programs' formats: each is a line of `formats.FORMATS`."""
