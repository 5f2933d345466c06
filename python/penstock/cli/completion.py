"""``penstock completion``."""

from __future__ import annotations

from typing import Literal

from . import EXIT_DONE
from .console import write_data


def completion(shell: Literal["bash", "zsh", "fish"], /) -> int:
    """Prints the completion script of a shell, for commands and options.

    Parameters
    ----------
    shell
        "bash", "zsh" or "fish". Save the script where the shell reads completions, such as
        ~/.local/share/bash-completion/completions/penstock, ~/.zfunc/_penstock or
        ~/.config/fish/completions/penstock.fish.
    """
    from . import application

    script = application().generate_completion(shell=shell)
    if shell == "bash":  # completes file names where none of our words fit
        script += "\ncomplete -o default -F _penstock penstock\n"
    write_data(script)
    return EXIT_DONE
