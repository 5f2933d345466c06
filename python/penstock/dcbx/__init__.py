"""The agent of DCBX at a real interface: a raw socket, a loop, and a door for who asks."""
