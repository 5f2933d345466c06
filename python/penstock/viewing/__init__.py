"""Serves result pages to a browser on this machine, with full resolution after zooming."""
