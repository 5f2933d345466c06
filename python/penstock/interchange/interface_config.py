"""Running configurations with indented interface blocks, as in EOS and NX-OS."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod

from .statements import MOST_PORTS, Statement, Statements, port_names
from .switch_piece import Commands, PortSet, SwitchText

_PORT = re.compile(r"Ethernet[\d/]+", re.ASCII)


class InterfaceConfig(ABC):
    """Statements of the interfaces of a configuration, and the hostname.

    Parameters
    ----------
    statements : Statements
        The configuration.
    """

    def __init__(self, statements: Statements) -> None:
        self.statements = statements
        self.interfaces: dict[str, list[Statement]] = {}
        self.down: list[str] = []
        self.hostname = "switch"

    @abstractmethod
    def port(self, own: list[Statement]) -> PortSet:
        """Settings of a port with these statements."""

    @abstractmethod
    def meaning(self, one: Statement) -> str:
        """The consequence of leaving out a statement."""

    def text(self, words: str, commands: Commands) -> SwitchText:
        """Returns the settings of all ports; `words` is the vendor's term for them.

        Raises
        ------
        InputError
            If a value is invalid or a reference is undefined; the message names the line.
        """
        ports = {name: self.port(lines) for name, lines in self.interfaces.items()}
        return SwitchText(
            self.statements, ports, self.hostname, self.down, words, self.meaning, commands=commands
        )

    def took_host(self, one: Statement) -> bool:
        """Handles `hostname` and `interface`; returns false for any other top-level statement."""
        if one.begins("hostname") and len(one.words) == 2:
            self.hostname = self.statements.document.name(one.line, self.statements.read(one)[1])
        elif one.begins("interface"):
            self._interface(one)
        else:
            return False
        return True

    def _interface(self, one: Statement) -> None:
        for name in port_names(self.statements, one, "".join(one.words[1:])):
            if _PORT.fullmatch(name) is None:
                continue
            self.interfaces.setdefault(name, []).extend(one.children)
            for line in one.children:
                if line.words in (("shutdown",), ("no", "shutdown")):
                    self.statements.read(line)
                    self.down += [name] if line.words[0] == "shutdown" else []
        if len(self.interfaces) > MOST_PORTS:
            raise self.statements.error(
                one, f"port number {len(self.interfaces)}; expected at most {MOST_PORTS}"
            )
