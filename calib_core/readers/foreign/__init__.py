"""Files as other tools write them: a shape is one file here and one import line."""

from calib_core.readers.foreign import caret, h2o, lm_eval, tidymodels, weka
from calib_core.readers.foreign.growing_columns import Columns, lacking, number
from calib_core.readers.foreign.json_documents import Constants, document_records, document_table
from calib_core.readers.foreign.recognition import (
    OF_COLUMNS,
    OF_RECORDS,
    Document,
    Record,
    Shape,
    ShapeOfColumns,
    ShapeOfRecords,
    known_shapes,
    of_columns,
    proposed_fields,
    shape_findings,
    shape_of_columns,
    shape_of_records,
)

__all__ = [
    "OF_COLUMNS",
    "OF_RECORDS",
    "Columns",
    "Constants",
    "Document",
    "Record",
    "Shape",
    "ShapeOfColumns",
    "ShapeOfRecords",
    "caret",
    "document_records",
    "document_table",
    "h2o",
    "known_shapes",
    "lacking",
    "lm_eval",
    "number",
    "of_columns",
    "proposed_fields",
    "shape_findings",
    "shape_of_columns",
    "shape_of_records",
    "tidymodels",
    "weka",
]
