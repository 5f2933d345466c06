"""Shell completion, and the installed man page."""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from penstock.cli import COMMANDS, main


def printed(shell: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["completion", shell]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_command_is_known(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    script = printed(shell, capsys)
    assert all(word in script for name, *_ in COMMANDS for word in name.split())


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
@pytest.mark.parametrize(
    ("words", "completed"), [("se", "sensitivity"), ("sweep --la", "--latin"), ("run --thr", "--threads")]
)
def test_bash_completes(
    words: str, completed: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "penstock.bash"
    script.write_text(
        f"{printed('bash', capsys)}\nCOMP_WORDS=(penstock {words})\n"
        'COMP_CWORD=$(( ${#COMP_WORDS[@]} - 1 ))\n_penstock\necho "${COMPREPLY[@]}"\n',
        "utf-8",
    )
    reported = subprocess.run(["bash", str(script)], capture_output=True, text=True, check=True)
    assert reported.stdout.split() == [completed]


def test_another_shell_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "tcsh"]) == 2
    assert "fish" in capsys.readouterr().err


def test_the_man_page_is_installed() -> None:
    page = Path(sysconfig.get_path("data")) / "share/man/man1/penstock.1"
    assert page.is_relative_to(sys.prefix)
    text = page.read_text("utf-8")
    assert all(f"penstock {name}" in text for name, *_ in COMMANDS)
