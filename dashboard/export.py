"""Tables and records as files: CSV safe to open in a spreadsheet, and values safe to write as JSON."""

from __future__ import annotations

import io
import math
import zipfile
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from calib_core.text import inert


def csv_bytes(table: pd.DataFrame) -> bytes:
    """Return the table as UTF-8 CSV; text that a spreadsheet would run as a formula is prefixed by an apostrophe.

    >>> csv_bytes(pd.DataFrame({"name": ["=1+1", "cat"], "gap": [-0.5, 0.5]})).decode().split()
    ['name,gap', "'=1+1,-0.5", 'cat,0.5']
    """
    columns = {j: _safe(table.iloc[:, j]) for j in range(table.shape[1])}
    return pd.DataFrame(columns).to_csv(header=[str(inert(name)) for name in table.columns], index=False).encode()


def _safe(column: pd.Series) -> pd.Series:
    return column if pd.api.types.is_numeric_dtype(column) else column.map(inert)


def finite(value: Any) -> Any:
    """Convert a value for JSON: NaN and infinities become null, keys become text.

    >>> finite({"ece": np.float64(0.5), 2: (float("nan"), np.int64(3))})
    {'ece': 0.5, '2': [None, 3]}
    """
    if isinstance(value, dict):
        return {str(key): finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(item) for item in value]
    plain = value.item() if isinstance(value, np.generic) else value
    return None if isinstance(plain, float) and not math.isfinite(plain) else plain


def zipped(files: Mapping[str, bytes]) -> bytes:
    """Return the files as one ZIP archive: equal files give equal bytes, whenever they are packed.

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
