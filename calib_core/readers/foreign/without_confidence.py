"""Files of evaluations that hold no confidence at all: each is named, and refused in one sentence."""

from __future__ import annotations

from calib_core.predictions.predictions import InputError
from calib_core.readers.table import Table
from calib_core.readers.tool_shapes import (
    JsonDocument,
    ShapeOfColumns,
    ShapeOfRecords,
    shape_of_columns,
    shape_of_records,
)


@shape_of_records
class EveryEvalEver(ShapeOfRecords):
    """Instance-level records of the Every Eval Ever schema, which has no field for a confidence."""

    key = "every-eval-ever"
    title = "instances of Every Eval Ever"

    def recognises(self, document: JsonDocument) -> bool:
        return all({"evaluation_id", "sample_id", "evaluation"} <= each.keys() for each in document.first)

    def table(self, document: JsonDocument) -> Table:
        raise InputError(
            f"{document.name} holds {self.title}, whose schema has whether answers are right and no confidence; open "
            "the log it was made from"
        )


@shape_of_records
class OpenAIEvents(ShapeOfRecords):
    """The event log of openai/evals."""

    key = "openai-evals"
    title = "an event log of openai/evals"

    def recognises(self, document: JsonDocument) -> bool:
        return all(
            "spec" in each or "final_report" in each or {"run_id", "event_id", "type", "data"} <= each.keys()
            for each in document.first
        ) and any("event_id" in each or "run_id" in each for each in document.first)

    def table(self, document: JsonDocument) -> Table:
        raise InputError(
            f"{document.name} is {self.title}, which tells whether answers match and holds no confidence; write "
            "confidence and correct for each sample"
        )


@shape_of_columns
class PredictedClasses(ShapeOfColumns):
    """predict_results_{task}.txt of the run_glue scripts: the index and the predicted class of each row."""

    key = "glue-predictions"
    title = "predicted classes of a run_glue script"

    def recognises(self, table: Table) -> bool:
        return table.names == ("index", "prediction") and table.name.lower().endswith((".txt", ".tsv"))

    def table(self, table: Table) -> Table:
        raise InputError(
            f"{table.name} holds {self.title}, the largest class of each row and no probabilities; save the softmax of "
            "predictions from trainer.predict, with label_ids, in an NPZ"
        )
