"""Fabrics, traffic and settings in the formats of other programs; `formats.FORMATS` lists the formats."""
