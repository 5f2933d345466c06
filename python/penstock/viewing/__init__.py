"""Result pages for a browser on this machine, with all points of the part that is zoomed in."""
