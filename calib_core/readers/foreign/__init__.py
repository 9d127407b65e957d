"""Shapes of files that other tools write: one class per shape; every module is imported here."""

from calib_core.readers.foreign import (
    answer_confidences,
    caret,
    class_rows,
    coco,
    h2o,
    inspect_log,
    lighteval,
    lm_eval,
    logged_tables,
    opencompass,
    pipelines,
    plain_numbers,
    simpleqa,
    tidymodels,
    weka,
)

__all__ = [
    "answer_confidences",
    "caret",
    "class_rows",
    "coco",
    "h2o",
    "inspect_log",
    "lighteval",
    "lm_eval",
    "logged_tables",
    "opencompass",
    "pipelines",
    "plain_numbers",
    "simpleqa",
    "tidymodels",
    "weka",
    "without_confidence",
]
