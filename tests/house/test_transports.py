"""The fabric and the scenarios know transports by what they are for: few files name one."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
MOST = 6
"""Files of the two crates that may name RDMA: those that declare its keys, or check them."""

TESTS = re.compile(r"^#\[cfg\(test\)\]\nmod \w+ \{\n.*", re.MULTILINE | re.DOTALL)


def test_few_files_name_rdma() -> None:
    """Comments and messages count, tests do not: what one transport alone has is in the crate `transport`."""
    sources = [
        file for crate in ("fabric", "scenario") for file in (ROOT / "crates" / crate / "src").rglob("*.rs")
    ]
    assert len(sources) > 100
    named = [file for file in sources if "rdma" in TESTS.sub("", file.read_text("utf-8")).lower()]
    assert len(named) <= MOST, [str(file.relative_to(ROOT)) for file in named]
