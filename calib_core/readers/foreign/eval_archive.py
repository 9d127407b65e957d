"""Read logs of inspect_ai (.eval archives).

zipfile reads the directory; this module unpacks the members, in bounded memory whatever their declared size, because
zipfile supports zstd only from Python 3.14 on.
"""

from __future__ import annotations

import io
import re
import struct
import sys
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from calib_core.predictions.predictions import InputError
from calib_core.readers import limits
from calib_core.readers.file_format import file_format
from calib_core.readers.foreign.inspect_log import has_confidence
from calib_core.readers.formats.archives import ENCRYPTED, is_log
from calib_core.readers.formats.jsonl import DECODER, JsonRefusedError, document_table
from calib_core.readers.messages import quoted, size
from calib_core.readers.table import Table

_ZSTD = 93
_LOCAL = struct.Struct("<26xHH")
"""Lengths of the name and of the extra field, in the local header of a member."""
_OTHERS = 64
"""Number of members of a log that are not samples."""
_SAMPLE = re.compile(r"samples/[^/]+(/sample)?\.json")
_SUMMARIES = re.compile(r"_journal/summaries/(?P<number>\d{1,9})\.json")


def _promised(data: bytes) -> int:
    """Unpacked bytes of the summaries plus the longest sample, doubled for Python objects, by the directory."""
    try:
        few = data.count(b"PK\x01\x02") <= limits.LOG_MEMBERS + _OTHERS
        entries = zipfile.ZipFile(io.BytesIO(data)).infolist() if few else []
    except Exception:  # zipfile raises six types of exceptions on a damaged directory
        return len(data)
    sizes = {entry.filename: min(entry.file_size, limits.DOCUMENT_BYTES) for entry in entries}
    samples = [size for name, size in sizes.items() if _SAMPLE.fullmatch(name)]
    return 2 * (sum(sizes.values()) - sum(samples) + max(samples, default=0))


@file_format(
    "eval",
    "an inspect_ai log",
    ("eval",),
    recognise=is_log,
    unpacked=_promised,
)
def parse_eval(data: bytes, name: str) -> Table:
    """Return the samples of a log: summaries, and whole samples if confidence is only in log-probabilities."""
    archive = _Archive.of(data, name)
    headers = [member for member in ("header.json", "_journal/start.json") if member in archive.members]
    about: Any = archive.value(headers[0]) if headers else {}
    summaries = _summaries(archive)
    if not any(map(has_confidence, summaries)):
        summaries = list(_with_outputs(archive, summaries))
    return document_table(name, enumerate(summaries), about if isinstance(about, dict) else {})


def _summaries(archive: _Archive) -> list[Mapping[str, Any]]:
    """Return the summaries of all samples; for an interrupted run, from its journal."""
    parts = [part for member in archive.members if (part := _SUMMARIES.fullmatch(member))]
    journal = [part[0] for part in sorted(parts, key=lambda part: int(part["number"]))]
    members = ["summaries.json"] if "summaries.json" in archive.members else journal
    values = [archive.value(member) for member in members]
    if not all(isinstance(value, list) for value in values):
        raise InputError(f"{archive.name}: the summaries are not a list of samples; save the log again")
    found = [each for value in values for each in value]
    if not all(isinstance(each, dict) for each in found):
        raise InputError(f"{archive.name}: a summary is not an object; save the log again")
    if not found:
        raise InputError(f"{archive.name} has no finished sample; finish the run, or choose another log")
    return found


def _with_outputs(archive: _Archive, summaries: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Yield summaries with the model's output and the store, where samples contain them."""
    beside: dict[tuple[str, str], dict[str, Any]] = {}
    for member in filter(_SAMPLE.fullmatch, archive.members):
        sample = archive.value(member)
        if isinstance(sample, dict):
            kept = {"output": _tokens_alone(sample.get("output")), "store": sample.get("store")}
            beside[str(sample.get("id")), str(sample.get("epoch"))] = kept
    for each in summaries:
        yield {**each, **beside.get((str(each.get("id")), str(each.get("epoch"))), {})}


def _tokens_alone(output: Any) -> Any:
    """Reduce a model's output to its log-probabilities, without texts."""
    choices = output.get("choices") if isinstance(output, dict) else None
    first = choices[0] if isinstance(choices, list) and choices else None
    return {"choices": [{"logprobs": first.get("logprobs")}]} if isinstance(first, dict) else None


@dataclass
class _Archive:
    """Members of an archive, unpacked on request; the total of unpacked bytes is limited."""

    name: str
    data: bytes
    members: Mapping[str, zipfile.ZipInfo]
    unpacked: int = 0

    @classmethod
    def of(cls, data: bytes, name: str) -> _Archive:
        if data.count(b"PK\x01\x02") > limits.LOG_MEMBERS + _OTHERS:
            raise InputError(f"{name} has more than {limits.LOG_MEMBERS:,} members; save fewer samples")
        try:
            entries = zipfile.ZipFile(io.BytesIO(data)).infolist()
        except Exception as e:  # zipfile raises six types of exceptions on a damaged directory
            raise InputError(f"{name} is damaged or cut off: its directory cannot be read; copy the log again") from e
        return cls(name, data, {entry.filename: entry for entry in entries})

    def value(self, member: str) -> Any:
        """Return the JSON value of a member."""
        where = f"{self.name}, {quoted(member)}"
        try:
            return DECODER.decode(self._bytes(self.members[member], where).decode("utf-8"))
        except (JsonRefusedError, InputError) as e:
            raise InputError(str(e) if str(e).startswith(where) else f"{where}: {e}") from e
        except RecursionError as e:
            raise InputError(f"{where} is nested too deeply; save the log again") from e
        except ValueError as e:
            raise InputError(f"{where} is not valid JSON; copy the log again") from e

    def _bytes(self, entry: zipfile.ZipInfo, where: str) -> bytes:
        if entry.flag_bits & ENCRYPTED:
            raise InputError(f"{where} is encrypted; save the log without a password")
        if entry.file_size > limits.DOCUMENT_BYTES:
            raise InputError(
                f"{where} unpacks to {size(entry.file_size)}; the maximum is {size(limits.DOCUMENT_BYTES)}: save fewer "
                "samples"
            )
        self.unpacked += entry.file_size
        if self.unpacked > limits.DECODED_BYTES:
            raise InputError(
                f"{self.name} unpacks to more than {size(limits.DECODED_BYTES)}. Save fewer samples, or save "
                "confidence in the metadata of scores, which is read without unpacking the samples"
            )
        start = entry.header_offset + _LOCAL.size
        if not _LOCAL.size <= start <= len(self.data):
            raise InputError(f"{where} is damaged or cut off; copy the log again")
        lengths = _LOCAL.unpack_from(self.data, entry.header_offset)
        start += sum(lengths)
        found = _unpacked(self.data[start : start + entry.compress_size], entry, where)
        if len(found) != entry.file_size or zlib.crc32(found) != entry.CRC:
            raise InputError(f"{where} is damaged or cut off; copy the log again")
        return found


def _unpacked(packed: bytes, entry: zipfile.ZipInfo, where: str) -> bytes:
    """Unpack a member, at most one byte beyond its declared size."""
    most = entry.file_size + 1
    if entry.compress_type == zipfile.ZIP_STORED:
        return packed
    if entry.compress_type == zipfile.ZIP_DEFLATED:
        try:
            return zlib.decompressobj(-zlib.MAX_WBITS).decompress(packed, most)
        except zlib.error as e:
            raise InputError(f"{where} is damaged or cut off; copy the log again") from e
    if entry.compress_type != _ZSTD:
        raise InputError(f"{where} uses an unsupported compression method; save the log again with inspect_ai")
    zstd = _zstd(where)
    try:
        found: bytes = zstd.ZstdDecompressor().decompress(packed, most)
    except (zstd.ZstdError, EOFError) as e:
        raise InputError(f"{where} is damaged or cut off; copy the log again") from e
    return found


def _zstd(where: str) -> Any:
    """Return Python's zstd module (3.14 and later) or the backport."""
    try:
        return import_module("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd")
    except ImportError as e:
        raise InputError(
            f"{where} is compressed with zstd, which needs another package. Run: pip install 'calib[inspect]'"
        ) from e
