"""Read prediction files: bytes to tables, findings and Predictions. To add a format, write a module and import it."""

from calib_core.readers.checks.examination import Checked, by_severity, checks, examine, propose
from calib_core.readers.checks.model_checks import unchosen_model
from calib_core.readers.conversion import columns_compared, predictions, shared_rows, split_rows
from calib_core.readers.cost_table import cost_table
from calib_core.readers.file_format import FILE_FORMATS, FileFormat, all_endings, file_format, usual_endings
from calib_core.readers.foreign import eval_archive
from calib_core.readers.formats import arff, binary_tables, delimited, jsonl, npy, packed, parquet, tensors
from calib_core.readers.formats.detection import file_bytes, read_table
from calib_core.readers.from_file import as_csv, read_models, read_predictions, with_labels
from calib_core.readers.proposal.answer_words import verdicts
from calib_core.readers.reading import Reading
from calib_core.readers.streams import StreamedFile
from calib_core.readers.table import Table
from calib_core.readers.table_findings import RULES, Finding, Rule, rule
from calib_core.readers.tool_shapes import usual_layout

__all__ = [
    "FILE_FORMATS",
    "RULES",
    "Checked",
    "FileFormat",
    "Finding",
    "Reading",
    "Rule",
    "StreamedFile",
    "Table",
    "all_endings",
    "arff",
    "as_csv",
    "binary_tables",
    "by_severity",
    "checks",
    "columns_compared",
    "cost_table",
    "delimited",
    "eval_archive",
    "examine",
    "file_bytes",
    "file_format",
    "jsonl",
    "npy",
    "packed",
    "parquet",
    "predictions",
    "propose",
    "read_models",
    "read_predictions",
    "read_table",
    "rule",
    "shared_rows",
    "split_rows",
    "tensors",
    "unchosen_model",
    "usual_endings",
    "usual_layout",
    "verdicts",
    "with_labels",
]
