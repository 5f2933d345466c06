"""Fabrics, traffic and settings in the formats of others: each is a line of `formats.FORMATS`."""
