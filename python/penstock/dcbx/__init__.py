"""The DCBX agent at a real interface: a raw socket, an event loop, and a socket for status queries."""
