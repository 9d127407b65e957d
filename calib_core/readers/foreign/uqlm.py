"""Results of uqlm: prompts and responses with the confidence scores of one or more of its scorers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from calib_core.predictions.predictions import InputError
from calib_core.readers.foreign.recognition import ShapeOfColumns, shape_of_columns
from calib_core.readers.messages import listed
from calib_core.readers.number_texts import looks_numeric
from calib_core.readers.proposal.column_roles import named
from calib_core.readers.table import Table

_SCORERS = frozenset(
    [
        "semantic_negentropy",
        "noncontradiction",
        "entailment",
        "bert_score",
        "bleurt",
        "cosine_sim",
        "semantic_sets_confidence",
        "min_probability",
        "normalized_probability",
        "sequence_probability",
        "mean_token_negentropy",
        "min_token_negentropy",
        "probability_margin",
        "monte_carlo_probability",
        "consistency_and_confidence",
        "semantic_density",
        "p_true",
        "ensemble_score",
        "ensemble_scores",
        "judge_1",
        "judge_2",
        "judge_3",
        "judge_4",
        "judge_5",
    ]
)
"""Names that are no other tool's; exact_match, which elsewhere says what is right, is beside sampled responses only."""


@shape_of_columns
class UncertaintyTable(ShapeOfColumns):
    """UQResult.to_df() as CSV or Parquet: a column for each scorer; what is right is joined by the user."""

    key = "uqlm"
    title = "results of uqlm (to_df)"

    def recognises(self, table: Table) -> bool:
        names = set(table.columns)
        return {"prompt", "response"} <= names and bool(_SCORERS & names) and not named(names, "confidence")

    def fields(self, table: Table, chosen: Mapping[str, Any]) -> Mapping[str, Any]:
        scorers = _scorers(table)
        if "confidence" not in chosen and len(scorers) > 1:
            raise InputError(
                f"{table.name}: uqlm's scorers are confidences of their own over the same responses; choose confidence "
                f"from {listed(scorers)}"
            )
        correct = chosen.get("correct") or next(iter(named(table.columns, "correct")), None)
        if correct is None:
            raise InputError(
                f"{table.name}: uqlm does not tell whether responses are right; add a column correct of 1 and 0 "
                "and open the file again"
            )
        return {"layout": "confidence", "kind": "probabilities", "confidence": scorers[0], "correct": correct}


def _scorers(table: Table) -> list[str]:
    known = _SCORERS | ({"exact_match"} if "sampled_responses" in table.columns else set())
    return [name for name, column in table.columns.items() if name in known and looks_numeric(column)]
