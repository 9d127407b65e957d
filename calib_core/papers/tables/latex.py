"""A table of methods in LaTeX with booktabs, names escaped, the best of each line in bold."""

from __future__ import annotations

import math

import pandas as pd

from calib_core.papers.tables.shapes import AVERAGE_RANK, ERROR, RANK, MethodTable, digits_by_measure, numbers
from calib_core.text import latex_escaped, without_controls


def latex(table: MethodTable) -> str:
    """The table as LaTeX for ``\\usepackage{booktabs}``: a tabular, with its notes as comments below.

    Values with standard errors, ranks as subscripts, the best of each line in bold; shares in percent.

    >>> frame = pd.DataFrame({"file": ["a_1"] * 2, "split": 0, "calibrator": ["x", "y"], "measure": "Accuracy",
    ...                       "value": [0.9, 0.8], "rows": 10, "answered": 1.0, "note": ""})
    >>> from calib_core.papers.tables import method_table
    >>> print(latex(method_table(frame)).splitlines()[-3])
    a\\_1 & $\\mathbf{90.0}_{1}$ & $80.0_{2}$ \\\\
    """
    frame = table.frame()
    digits = digits_by_measure(frame, table.names)
    lines = [f"% {without_controls(table.title)}", rf"\begin{{tabular}}{{l{'r' * len(table.names)}}}", r"\toprule"]
    lines.append(" & ".join(["", *map(latex_escaped, table.names)]).strip() + r" \\")
    for measure, part in frame.groupby("measure", sort=False):
        unit = r" (\%)" if part["unit"].iloc[0] == "share" else ""
        lines += [
            r"\midrule",
            rf"\multicolumn{{{len(table.names) + 1}}}{{l}}{{{latex_escaped(str(measure))}{unit}}} \\",
        ]
        above = "file"
        for _, line in part.iterrows():
            if line["line"] != above == "file":
                lines.append(r"\midrule")
            above = str(line["line"])
            cells = [_cell(line, name, table.names, digits[str(measure)]) for name in table.names]
            lines.append(" & ".join([latex_escaped(str(line["file"])), *cells]) + r" \\")
    lines += [r"\bottomrule", r"\end{tabular}"]
    return "\n".join([*lines, *(f"% {without_controls(note)}" for note in table.notes), ""])


def _cell(line: pd.Series, name: str, names: tuple[str, ...], digits: int) -> str:
    value, error, rank = (float(line[key]) for key in (name, ERROR.format(name), RANK.format(name)))
    if math.isnan(value):
        return "--"
    if line["line"] == AVERAGE_RANK:
        return f"{value:.2f}"
    first, second = numbers(value, error, str(line["unit"]), digits)
    best = rank == line[[RANK.format(other) for other in names]].min()  # of those that are known
    shown = rf"\mathbf{{{first}}}" if best else first
    return f"${shown}" + (rf" \pm {second}" if second else "") + (f"_{{{rank:g}}}$" if not math.isnan(rank) else "$")
