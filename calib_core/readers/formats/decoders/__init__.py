"""Decoders by format. They import libraries for their formats, and nothing else of this project.

They also run in a process of their own, as the script ``__main__``, which may die on a damaged file.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from .arrow import RECORDS, check_type, decode_arrow, decode_orc, decode_parquet, holds_records, numbers
from .decoded_columns import ALIGNED, Decoded, DecodingRefusedError, TooLargeError, laid_out
from .matlab import decode_matlab
from .sheets import decode_sheets
from .statistics_packages import decode_stata, decoder_of

__all__ = [
    "DECODERS",
    "RECORDS",
    "Decoded",
    "DecodingRefusedError",
    "check_type",
    "decoded",
    "holds_records",
    "numbers",
]

DECODERS: dict[str, Callable[[bytes, dict[str, int]], Decoded]] = {
    "arrow": decode_arrow,
    "matlab": decode_matlab,
    "orc": decode_orc,
    "parquet": decode_parquet,
    "sas": decoder_of("read_sas7bdat"),
    "sheets": decode_sheets,
    "spss": decoder_of("read_sav"),
    "stata": decode_stata,
    "xport": decoder_of("read_xport"),
}
"""Decoders by key: functions of the bytes and of the limits."""


def decoded(key: str, data: bytes, bounds: dict[str, int]) -> Iterator[Any]:
    """Return the parts of the output: a line of JSON, then buffers of numbers."""
    try:
        described, buffers = laid_out(DECODERS[key](data, bounds))
    except DecodingRefusedError as e:
        described, buffers = {"refused": str(e)}, []
    except TooLargeError as e:
        described, buffers = {"too_large": e.shape}, []
    line = json.dumps(described).encode()
    # The numbers start at a multiple of 64, so that aligning them needs no copy.
    yield line + b" " * (-(len(line) + 1) % ALIGNED) + b"\n"
    yield from (memoryview(buffer) for buffer in buffers)
