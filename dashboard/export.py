"""Tables as files: CSV whose text cells no spreadsheet takes for a formula, and text for LaTeX."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Mapping

import pandas as pd

_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def csv_bytes(table: pd.DataFrame) -> bytes:
    """The table as UTF-8 CSV; text that a spreadsheet would run as a formula gets an apostrophe in front.

    >>> csv_bytes(pd.DataFrame({"name": ["=1+1", "cat"], "gap": [-0.5, 0.5]})).decode().split()
    ['name,gap', "'=1+1,-0.5", 'cat,0.5']
    """
    columns = {str(inert(name)): _safe(column) for name, column in table.items()}
    return pd.DataFrame(columns).to_csv(index=False).encode()


def _safe(column: pd.Series) -> pd.Series:
    return column if pd.api.types.is_numeric_dtype(column) else column.map(inert)


def inert(value: object) -> object:
    """A text cell as it is, unless it begins like a formula."""
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA_STARTS) else value


def latex_escaped(text: str) -> str:
    r"""Text as LaTeX prints it: no character of it is a command, a comment, a column or a line's end.

    A bracket or a star at the start would be read as an argument of the line's end before it: braces part them.

    >>> print(latex_escaped(r"50% of $\input{x}$"), latex_escaped("[1] a_b"))
    50\% of \$\textbackslash{}input\{x\}\$ {}[1] a\_b
    """
    plain = _CONTROLS.sub(" ", text).translate(_LATEX)
    return "{}" + plain if plain.startswith(("[", "*")) else plain


_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]+")
_LATEX = str.maketrans(
    {
        **{sign: f"\\{sign}" for sign in "&%$#_{}"},
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        '"': r"{\char34}",
        "`": r"{\char96}",
        "–": "--",
        "−": "$-$",
        "\u202f": r"\,",
        "\u00a0": "~",
    }
)


def zipped(files: Mapping[str, bytes]) -> bytes:
    """The files in one ZIP archive: equal files make equal bytes, whenever they are packed.

    >>> zipped({"a.csv": b"1"}) == zipped({"a.csv": b"1"})
    True
    """
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, data, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()
