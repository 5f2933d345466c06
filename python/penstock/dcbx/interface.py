"""A raw socket on a Linux interface that receives and sends LLDP frames, or all frames."""

from __future__ import annotations

import errno
import socket
import struct

from penstock.errors import InputError
from penstock.library import suggestion

LLDP, EVERY = 0x88CC, 0x0003
"""EtherTypes to receive: LLDP, or any."""
NEAREST_BRIDGE = bytes.fromhex("0180c200000e")
MOST_BYTES = 65_536
# Constants of <linux/if_packet.h> and <linux/if_arp.h> that the module `socket` does not define.
SOL_PACKET = 263
PACKET_ADD_MEMBERSHIP = 1
PACKET_MR_MULTICAST = 0
ARPHRD_ETHER = 1


class Interface:
    """An Ethernet interface.

    Parameters
    ----------
    name : str
        Name of the interface as in `ip link`, such as "eth0".
    kind : int, optional
        The EtherType to receive. Default: that of LLDP.

    Attributes
    ----------
    mac : bytes
        MAC address, 6 octets.

    Raises
    ------
    InputError
        If there is no such interface, it is not an Ethernet interface, or a raw socket needs more privileges.
    """

    def __init__(self, name: str, kind: int = LLDP) -> None:
        self.name = name
        if not hasattr(socket, "AF_PACKET"):
            raise InputError(f"--interface {name}: raw sockets require Linux")
        try:
            self._index = socket.if_nametoindex(name)
        except (OSError, ValueError) as error:
            known = [known for _, known in socket.if_nameindex()]
            raise InputError(f"--interface {name}: no such interface; {suggestion(name, known)}") from error
        try:
            self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(kind))
        except PermissionError as error:
            raise InputError(
                f"--interface {name}: a raw socket requires root or the capability CAP_NET_RAW"
            ) from error
        try:
            self._socket.bind((name, kind))
            _, _, _, hardware, self.mac = self._socket.getsockname()
            if hardware != ARPHRD_ETHER:
                raise InputError(f"--interface {name}: expected an Ethernet interface")
            request = struct.pack("iHH8s", self._index, PACKET_MR_MULTICAST, 6, NEAREST_BRIDGE)
            self._socket.setsockopt(SOL_PACKET, PACKET_ADD_MEMBERSHIP, request)
            self._socket.setblocking(False)
        except BaseException:
            self._socket.close()
            raise

    def fileno(self) -> int:
        """File descriptor, for `select`."""
        return self._socket.fileno()

    def close(self) -> None:
        """Closes the socket."""
        self._socket.close()

    def check(self) -> None:
        """Checks that the interface still exists, since the socket gets no notification.

        Raises
        ------
        InputError
            If the interface is gone.
        """
        if self._index not in (index for index, _ in socket.if_nameindex()):
            raise InputError(f"--interface {self.name}: the interface is gone")

    def send(self, frame: bytes) -> None:
        """Sends a frame; it is lost while the link is down.

        Raises
        ------
        InputError
            If the interface is gone.
        """
        try:
            self._socket.send(frame)
        except OSError as error:
            self._accept(error)

    def receive(self) -> bytes | None:
        """Returns the next frame from another sender; ``None`` if there is none yet.

        Raises
        ------
        LinkDownError
            If the link has gone down since the last call.
        InputError
            If the interface is gone.
        """
        while True:
            try:
                frame, (_, _, kind, _, _) = self._socket.recvfrom(MOST_BYTES)
            except BlockingIOError:
                return None
            except OSError as error:
                self._accept(error)
                raise LinkDownError from error
            if kind != socket.PACKET_OUTGOING:
                return frame

    def _accept(self, error: OSError) -> None:
        """Ignores the error of a link that is down, since it may recover; raises all other errors."""
        self.check()
        if error.errno not in (errno.ENETDOWN, errno.ENXIO, errno.ENOBUFS, errno.EAGAIN):
            raise error


class LinkDownError(Exception):
    """Raised when the link has gone down."""
