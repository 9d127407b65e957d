"""Tables of methods by files, in the papers' form: methods fitted and evaluated on repeated splits of any files.

To add a table, declare it in ``published``; to add a measure, in ``shapes``.
"""

from calib_core.papers.tables.published import PAPER_TABLES, Method, PaperTable, as_method, as_paper_table
from calib_core.papers.tables.runs import MEASURES, SPLITS, method_tables, paper_table, paper_tables
from calib_core.papers.tables.shapes import (
    TABLE_MEASURES,
    MethodTable,
    TableMeasure,
    as_measure,
    cell,
    decimals,
    digits_by_measure,
    latex,
    method_table,
    names_of,
    ranked,
)

__all__ = [
    "MEASURES",
    "PAPER_TABLES",
    "SPLITS",
    "TABLE_MEASURES",
    "Method",
    "MethodTable",
    "PaperTable",
    "TableMeasure",
    "as_measure",
    "as_method",
    "as_paper_table",
    "cell",
    "decimals",
    "digits_by_measure",
    "latex",
    "method_table",
    "method_tables",
    "names_of",
    "paper_table",
    "paper_tables",
    "ranked",
]
