"""The answer of ``penstock reproduce --json``, which is also the input of the table of all studies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from .description import UNDECIDED, VERDICTS
from .reproduce import SCHEMA, Outcome, StudyResult


def to_json(results: Sequence[StudyResult], name: str) -> dict[str, Any]:
    """The complete answer; its schema is ``schemas/reproduce.schema.json``."""
    experiments = [
        {
            **experiment(result, outcome),
            "pictures": [str(result.directory / picture) for picture in outcome.pictures],
        }
        for result in results
        for outcome in result.outcomes
    ]
    return {
        "schema": SCHEMA,
        "study": name,
        "passed": all(result.passed for result in results),
        "verdicts": verdicts(experiments),
        "experiments": experiments,
        "tables": [
            {
                "study": result.study.name,
                "title": table.title,
                "file": str(result.directory / f"{table.name}.csv"),
            }
            for result in results
            for table in result.tables
        ],
        "choices": [
            {
                "study": result.study.name,
                "what": choice.what,
                "value": choice.value,
                "why": "" if result.quick else choice.why,
            }
            for result in results
            for choice in result.study.choices
        ],
        "departures": [
            {
                "study": result.study.name,
                "what": departure.what,
                "why": "" if result.quick else departure.why,
            }
            for result in results
            for departure in result.study.departures
        ],
    }


def experiment(result: StudyResult, outcome: Outcome) -> dict[str, Any]:
    """One row: the claim of the source, the measurement, and the verdict.

    A quick run has no reasons, since they quote figures of the full run.
    """
    described = result.study.experiment(outcome.id)
    return {
        "study": result.study.name,
        "id": outcome.id,
        "title": described.title,
        "reference": described.reference,
        "kind": described.kind,
        "reported": outcome.reported,
        "criterion": outcome.criterion,
        "measured": outcome.measured,
        "passed": outcome.passed,
        "verdict": result.verdict(outcome),
        "why": result.why(outcome),
        "not_met": "" if result.quick else described.not_met,
        "note": outcome.note,
        "deterministic": described.deterministic,
        "seeds": outcome.judgement.seeds,
        "figures": [finding.to_dict() for finding in outcome.judgement.findings],
        "revised": described.revised,
    }


def verdicts(experiments: Sequence[dict[str, Any]]) -> dict[str, int]:
    """Number of experiments per verdict, including verdicts without any."""
    found = Counter(one["verdict"] for one in experiments)
    known = [verdict for both in VERDICTS.values() for verdict in both]
    return {verdict: found[verdict] for verdict in [*known, UNDECIDED]}
