"""What two full links lose at a third."""

from __future__ import annotations

from penstock.studies.reproduce import Context, Outcome


def run(context: Context) -> list[Outcome]:
    """All experiments."""
    rows = context.scenario("two-to-one").run().rows("flows")
    lost = sum(row["frames_dropped"] for row in rows) / sum(row["frames_sent"] for row in rows)
    return [context.judge("L-1", {"lost": lost})]
