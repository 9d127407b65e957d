"""What a Parquet file says of itself before any row is read: its number of rows and the types of columns."""

from __future__ import annotations

import os
from collections.abc import Sequence

from calib_core.predictions.predictions import InputError
from calib_core.readers.table import file_label


def columns_of(path: str | os.PathLike[str], columns: Sequence[str]) -> tuple[int, dict[str, str]]:
    """The number of rows and the types of these columns, as pyarrow names them; InputError where there are none."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        metadata = pq.read_metadata(path)
        schema = metadata.schema.to_arrow_schema()
        return metadata.num_rows, {name: str(schema.field(name).type) for name in columns}
    except (pa.ArrowException, OSError, KeyError) as e:
        name = file_label(os.fspath(path))
        raise InputError(f"{name} is no Parquet file with the columns {', '.join(columns)}; check it") from e
