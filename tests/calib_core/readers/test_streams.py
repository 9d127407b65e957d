"""Files read a part at a time: the rows of the whole, for any encoding and line ends; correct refusals."""

import io

import numpy as np
import pandas as pd
import pytest

from calib_core import InputError, read_predictions
from calib_core.readers import StreamedFile, limits, streams


@pytest.fixture
def text(monkeypatch):
    monkeypatch.setattr(streams, "TEXT_BYTES", 501)  # odd: blocks end inside characters of two bytes
    rng = np.random.default_rng(0)
    p = rng.dirichlet([1, 1, 1], 300)
    names = np.array(["chat", "hérisson", "eel"])
    frame = pd.DataFrame(p, columns=[f"p_{name}" for name in names])
    labels = (p.cumsum(axis=1) > rng.random((300, 1))).argmax(axis=1)
    return frame.assign(label=names[np.append([0, 1, 2], labels[3:])]).to_csv(index=False)


def joined(path):
    parts = list(StreamedFile(path))
    assert len(parts) > 3
    return np.concatenate([part.probs for part in parts]), np.concatenate([part.true_labels for part in parts])


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
def test_encodings_and_line_ends_are_those_of_the_whole(tmp_path, text, encoding, ends):
    mark = {"utf-16-le": b"\xff\xfe", "utf-16-be": b"\xfe\xff"}.get(encoding, b"")
    (tmp_path / "a.csv").write_bytes(mark + text.replace("\n", ends).encode(encoding))
    whole = read_predictions(tmp_path / "a.csv")
    probs, labels = joined(tmp_path / "a.csv")
    np.testing.assert_array_equal(probs, whole.probs)
    np.testing.assert_array_equal(labels, whole.true_labels)


def test_what_cannot_be_read_in_parts_is_refused_with_its_reason(tmp_path, text):
    for content, said in (
        (text.replace("eel", '"eel"').replace("\n", "\r").encode(), "quotes and line ends .*carriage return"),
        (b"\xff\xfe" + text.encode("utf-16-le") + b"\x00", "cut off in its last character"),
        (b"\xff\xfe" + text.encode("utf-16-le")[:800] + b"\x00\xd8\x00\xd8", "damaged UTF-16 text"),
    ):
        (tmp_path / "a.csv").write_bytes(content)
        with pytest.raises(InputError, match=said):
            joined(tmp_path / "a.csv")


def test_lines_are_numbered_as_in_the_file(tmp_path, text):
    lines = text.split("\n")
    lines[200] = lines[200].rsplit(",", 1)[0] + ",owl"
    (tmp_path / "a.csv").write_bytes(b"\xff\xfe" + "\r".join(lines).encode("utf-16-le"))
    with pytest.raises(InputError, match=r"line 201 "):
        joined(tmp_path / "a.csv")


def test_rows_that_belong_together_are_not_parted(tmp_path, monkeypatch):
    monkeypatch.setattr(streams, "TEXT_BYTES", 300)
    rng = np.random.default_rng(1)
    rows = pd.DataFrame({"model": ["a", "b"] * 60, "confidence": rng.random(120), "correct": rng.integers(0, 2, 120)})
    rows.to_csv(tmp_path / "m.csv", index=False)
    with pytest.raises(InputError, match="several models, whose rows belong together"):
        list(StreamedFile(tmp_path / "m.csv", {"models": "model", "model": "a"}))


def test_formats_that_cannot_be_read_in_parts_are_read_at_once_or_name_those_that_can(tmp_path, text, monkeypatch):
    pytest.importorskip("pyarrow")
    frame = pd.read_csv(io.StringIO(text.replace("é", "e")))
    files = {
        "a.arrow": lambda path: frame.to_feather(path),
        "a.dta": lambda path: frame.to_stata(path, write_index=False),
        "a.csv.gz": lambda path: frame.to_csv(path, index=False),
        "a.npz": lambda path: np.savez(path, probs=frame.iloc[:, :3].to_numpy(), label=frame["label"].to_numpy(str)),
        "a.npy": lambda path: np.save(path, frame.to_records(index=False, column_dtypes={"label": "U9"})),
    }
    for name, write in files.items():
        write(tmp_path / name)
        (part,) = StreamedFile(tmp_path / name)
        np.testing.assert_allclose(part.probs, frame.iloc[:, :3].to_numpy(), rtol=1e-6)
    monkeypatch.setattr(limits, "ROWS", 100)
    for name in ("a.arrow", "a.dta", "a.csv.gz"):
        with pytest.raises(InputError, match="Save it as Parquet, CSV or JSON Lines, which are read in parts"):
            list(StreamedFile(tmp_path / name))
