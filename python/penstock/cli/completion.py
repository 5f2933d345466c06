"""``penstock completion``."""

from __future__ import annotations

from typing import Literal

from . import EXIT_DONE
from .console import write_data


def completion(shell: Literal["bash", "zsh", "fish"], /) -> int:
    """Prints the script with which a shell completes commands and options.

    Parameters
    ----------
    shell
        "bash", "zsh" or "fish". Put the script where the shell looks, such as
        ~/.local/share/bash-completion/completions/penstock, ~/.zfunc/_penstock or
        ~/.config/fish/completions/penstock.fish.
    """
    from . import application

    script = application().generate_completion(shell=shell)
    if shell == "bash":  # files, where no word of ours fits
        script += "\ncomplete -o default -F _penstock penstock\n"
    write_data(script)
    return EXIT_DONE
