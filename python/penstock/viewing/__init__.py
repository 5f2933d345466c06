"""Pages of results for a browser on this machine, with all points of what it zooms to."""
