"""Archives of logs: damaged, too large or compressed with zstd; attempts at the same question form a group."""

from __future__ import annotations

import importlib
import io
import struct
import sys
import zipfile
import zlib
from types import SimpleNamespace

import numpy as np
import pytest

import calib_core as cc
from calib_core.readers import limits, read_table
from calib_core.readers.foreign import eval_archive
from calib_core.readers.formats import archives
from tests.corpus.inspect_files import NAME, archive, drawn, judged, log, score, summary

ZSTD = 93


def refused(data: bytes, name: str = NAME) -> str:
    with pytest.raises(cc.InputError) as why:
        cc.read_predictions(data, name)
    assert str(why.value).startswith(name)
    return str(why.value)


def with_method(data: bytes, method: int) -> bytes:
    """Return the archive whose directory claims another compression of its members."""
    out = bytearray(data)
    for magic, place in ((b"PK\x01\x02", 10), (b"PK\x03\x04", 8)):
        start = 0
        while (start := data.find(magic, start)) >= 0:
            out[start + place : start + place + 2] = struct.pack("<H", method)
            start += 4
    return bytes(out)


def test_epochs_are_a_group_and_never_averaged():
    found = cc.read_predictions(log(judged()), NAME)
    assert found.n_rows == 36
    assert found.row_groups.words == "12 groups (id)"
    together, alone = (cc.estimate(each, None, "accuracy").interval() for each in (found, found.replace(groups=None)))
    assert together.high - together.low > alone.high - alone.low


def test_columns_that_tell_what_is_right_are_not_along():
    found = cc.read_predictions(log(judged()), NAME)
    assert list(found.metadata) == ["id", "epoch", "task", "model", "metadata_subject"]


def test_zstd_is_read_with_the_package_and_told_of_without(monkeypatch):
    """Members are stored but declared as zstd: the fake package returns them unchanged."""
    data = with_method(archive({"summaries.json": judged()}, zipfile.ZIP_STORED), ZSTD)
    with monkeypatch.context() as without:
        without.setattr(eval_archive, "import_module", lambda name: importlib.import_module("calib_no_such." + name))
        assert refused(data).endswith("pip install 'calib[inspect]'")

    class Decompressor:
        def decompress(self, packed: bytes, most: int) -> bytes:
            return packed[:most]

    package = SimpleNamespace(ZstdDecompressor=Decompressor, ZstdError=zlib.error)
    monkeypatch.setattr(eval_archive, "import_module", lambda name: package)
    np.testing.assert_array_equal(cc.read_predictions(data, NAME).confidence, drawn()[1])


def test_real_zstd_and_a_bomb_of_it():
    zstd = pytest.importorskip("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd")
    plain = archive({"summaries.json": judged()}, zipfile.ZIP_STORED)
    content = zipfile.ZipFile(io.BytesIO(plain)).read("summaries.json")
    packed = zstd.compress(content)
    data = with_method(archive({"summaries.json": packed}, zipfile.ZIP_STORED), ZSTD)
    entry = bytearray(data)
    for magic, place in ((b"PK\x01\x02", 16), (b"PK\x03\x04", 14)):
        start = data.find(magic)
        sizes = struct.pack("<III", zlib.crc32(content), len(packed), len(content))
        entry[start + place : start + place + 12] = sizes
    assert cc.read_predictions(bytes(entry), NAME).n_rows == 36
    bomb = zstd.compress(bytes(1 << 26))
    assert "damaged" in refused(with_method(archive({"summaries.json": bomb}, zipfile.ZIP_STORED), ZSTD))


def test_deflate_that_unpacks_to_more_than_it_promises_is_cut_short():
    data = bytearray(archive({"summaries.json": b"[" + b" " * (1 << 22) + b"]"}))
    start = data.find(b"PK\x01\x02")
    data[start + 24 : start + 28] = struct.pack("<I", 100)
    assert "is damaged or cut off" in refused(bytes(data))


def test_what_is_too_large_is_refused_before_it_is_unpacked(monkeypatch):
    monkeypatch.setattr(limits, "DOCUMENT_BYTES", 1000)
    assert "unpacks to" in refused(log(judged()))
    monkeypatch.undo()
    monkeypatch.setattr(limits, "DECODED_BYTES", 1000)
    assert "unpacks to more than" in refused(log(judged()))
    monkeypatch.undo()
    monkeypatch.setattr(limits, "LOG_MEMBERS", 3)
    many = {f"samples/{i}_epoch_1.json": {} for i in range(100)}
    assert "has more than 3 members" in refused(archive(many))


@pytest.mark.parametrize("cut", [40, 200, 1000, -30, -1])
def test_what_is_cut_off_is_refused(cut):
    assert "damaged or cut off" in refused(log(judged())[:cut])


def test_a_directory_that_points_before_the_file_is_refused():
    """zipfile takes offsets relative to the directory: a directory declared further on moves them."""
    data = bytearray(archive({"summaries.json": judged()}))
    end = data.rfind(b"PK\x05\x06")
    (place,) = struct.unpack("<I", data[end + 16 : end + 20])
    data[end + 16 : end + 20] = struct.pack("<I", place + 25)
    assert "damaged or cut off" in refused(bytes(data))


def test_a_digit_changed_is_found_by_the_checksum():
    data = archive({"summaries.json": judged()}, zipfile.ZIP_STORED)
    place = data.find(b'"confidence": 0.') + 16
    other = b"3" if data[place : place + 1] != b"3" else b"4"
    assert "damaged" in refused(data[:place] + other + data[place + 1 :])


def test_one_byte_changed_is_found():
    data = bytearray(log(judged()))
    place = data.find(b"summaries.json", data.find(b"_journal/summaries/1.json") + 30) + 40
    data[place] ^= 0xFF
    assert "damaged" in refused(bytes(data))


@pytest.mark.parametrize(
    ("members", "sentence"),
    [
        ({"summaries.json": "{"}, "is not valid JSON"),
        ({"summaries.json": "[" * 100_000}, "nested too deeply"),
        ({"summaries.json": '[{"id": 1, "id": 2}]'}, 'key "id" occurs twice'),
        ({"summaries.json": {"id": 1}}, "the summaries are not a list of samples"),
        ({"summaries.json": [3]}, "a summary is not an object"),
        ({"summaries.json": []}, "has no finished sample"),
        ({"header.json": {}}, "has no finished sample"),
        (
            {"header.json": {"eval": {"task": "t"}}, "summaries.json": [summary(1, 1, {})]},
            "has no readable rows",
        ),
        ({"summaries.json": b"\xff\xfe"}, "is not valid JSON"),
    ],
)
def test_members_that_are_no_samples_are_refused(members, sentence):
    assert sentence in refused(archive(members))


def test_an_encrypted_member_is_refused():
    data = bytearray(archive({"summaries.json": judged()}))
    start = data.find(b"PK\x01\x02")
    data[start + 8] |= 1
    assert "is encrypted" in refused(bytes(data))


def test_an_archive_is_told_from_npz_by_its_first_member():
    assert archives.is_log(log(judged()))
    assert "looks like an inspect_ai log" in refused(log(judged()), "a.npz")
    assert read_table(log(judged()), NAME).origin == "inspect-log"


@pytest.mark.parametrize(
    "strange",
    [
        {"scores": {"judge": score({"score": "C", "confidence": {"a": 1}})}},
        {"scores": {"judge": score([1, 2])}},
        {"scores": {"judge": score("C", metadata=[1])}},
        {"scores": {"judge": {"answer": "A"}}},
        {"scores": [1]},
        {"metadata": "text"},
        {"metadata": {"": 1}},
        {"metadata": {"x" * 300: 1}},
        {"metadata": {"confidence": "\ud800"}},
        {"choices": [None, {}], "output": {"choices": [{"logprobs": {"content": [3, {"token": None}]}}]}},
        {"output": {"choices": [{"logprobs": {"content": [{"token": "A", "top_logprobs": [1], "logprob": "x"}]}}]}},
        {"output": {"choices": {"a": 1}}},
        {"id": {"a": 1}, "epoch": [1]},
        {"store": [1]},
        {"scores": {"\ud800": score("C")}},
        {"scores": {f"s{i}": score("C") for i in range(5000)}},
    ],
)
def test_strange_samples_are_read_or_refused_in_a_sentence(strange):
    every = [{**each, **strange} if i == 7 else each for i, each in enumerate(judged())]
    bare = [{**each, "scores": {"choice": score("C")}, **strange} for each in judged()[:4]]
    samples = {f"samples/{i}_epoch_1.json": each for i, each in enumerate(bare)}
    for data, rows in ((log(every), 34), (log(bare, samples), 1)):
        found = sentence(data)
        assert found if isinstance(found, str) else found.n_rows >= rows
        if isinstance(found, str):
            assert found.startswith(NAME)
            assert len(found) < 600


def sentence(data):
    """Return predictions, or the message with which they are refused."""
    try:
        return cc.read_predictions(data, NAME)
    except cc.InputError as why:
        return str(why)


def test_no_module_is_imported_for_members_that_are_deflated(monkeypatch):
    monkeypatch.setattr(eval_archive, "import_module", lambda name: pytest.fail(name))
    assert cc.read_predictions(log(judged()), NAME).n_rows == 36
