"""``penstock completion``."""

from __future__ import annotations

from typing import Literal

from . import EXIT_DONE
from .console import write_data


def completion(shell: Literal["bash", "zsh", "fish"], /) -> int:
    """Prints a shell completion script for commands and options.

    Parameters
    ----------
    shell
        "bash", "zsh" or "fish". Save the script in the completion directory of the shell, such as
        ~/.local/share/bash-completion/completions/penstock, ~/.zfunc/_penstock or
        ~/.config/fish/completions/penstock.fish.
    """
    from . import application

    script = application().generate_completion(shell=shell)
    if shell == "bash":  # falls back to file names
        script += "\ncomplete -o default -F _penstock penstock\n"
    write_data(script)
    return EXIT_DONE
