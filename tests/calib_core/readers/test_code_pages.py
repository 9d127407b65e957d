"""Old code pages: names of any of them are read, numbers never change, and damaged UTF-8 is refused."""

from __future__ import annotations

import io
import pathlib

import numpy as np
import pytest

from calib_core.predictions.predictions import InputError
from calib_core.readers import StreamedFile, read_predictions, read_table, streams
from calib_core.readers.code_pages import CODE_PAGES, code_page, in_utf8
from calib_core.readers.text_encoding import any_text, utf8_blocks

WORDS = {
    "cp1252": ["bête", "élan", "Köln", "naïve", "l’été", "smørrebrød", "ÉTÉ", "señor"],
    "cp1250": ["źdźbło", "człowiek", "żółw", "třída"],
    "cp1251": ["кошка", "собака", "Птица", "НЕТ"],
    "mac-roman": ["bête", "élève", "Köln", "naïve", "smørrebrød", "señor"],
    "koi8-r": ["кошка", "собака", "вероятность", "исход", "нет"],
    "gb18030": ["编号", "概率", "是否违约", "否"],
    "cp932": ["番号", "確率", "結果", "いいえ", "はい"],
    "euc_jp": ["番号", "確率", "結果", "いいえ", "はい"],
    "cp949": ["번호", "예측확률", "실제", "아니오"],
    "big5": ["編號", "違約機率", "是否違約", "否"],
}


@pytest.mark.parametrize("page", WORDS)
def test_usual_words_identify_their_code_page(page: str) -> None:
    assert code_page(",".join(WORDS[page]).encode(page)) == page


TWO_NAMES = {
    **dict.fromkeys(["cp1252", "cp1250", "mac-roman", "latin-1", "cp850", "cp1254"], ("chÄt", "bÖr")),
    "cp1251": ("кот", "пёс"),
    "koi8-r": ("кошка", "собака"),
    "cp1253": ("γάτα", "σκύλος"),
    "gbk": ("猫", "狗"),
    "shift-jis": ("ネコ", "イヌ"),
}


@pytest.mark.parametrize("page", TWO_NAMES)
def test_every_code_page_leaves_numbers_and_names_apart(page: str) -> None:
    """The letters may be wrong, but no name is lost and no two become equal."""
    words = TWO_NAMES[page]
    text = f"p_{words[0]},p_{words[1]},label\n0.75,0.25,{words[0]}\n0.25,0.75,{words[1]}\n0.5,0.5,{words[0]}\n"
    found = read_predictions(text.encode(page), "a.csv")
    assert found.probs.tolist() == [[0.75, 0.25], [0.25, 0.75], [0.5, 0.5]]
    assert found.true_labels is not None
    assert found.true_labels.tolist() == [0, 1, 0]
    assert any("never numbers" in note for note in found.notes)


def test_every_byte_has_a_letter_of_its_own() -> None:
    every = bytes(range(256))
    for page in CODE_PAGES.keys() - {"gb18030", "cp932", "euc_jp", "cp949", "big5"}:
        text = in_utf8(page)(every).decode()
        assert len(text) == len(set(text)) == 256


def test_a_file_in_an_old_page_of_two_bytes_has_its_letters_also_in_blocks() -> None:
    text = "编号,概率,是否违约\n" + "".join(f"{i},0.{i % 9 + 1},{'否是'[i % 2]}\n" for i in range(300))
    data = text.encode("gb18030")
    assert any_text(data, "a.csv")[0].decode() == text
    notes: list[str] = []
    blocks = utf8_blocks(io.BytesIO(data), 101, "a.csv", True, notes)
    assert b"".join(block for block, _ in blocks).decode() == text
    assert "GB 18030" in notes[0]
    assert list(read_table(data, "a.csv").columns) == ["编号", "概率", "是否违约"]


def test_utf8_has_no_note_and_damaged_utf8_is_refused() -> None:
    assert any_text("p,bête\n".encode(), "a.csv") == ("p,bête\n".encode(), [])
    for data in ("bête,".encode() + b"\xe9\n", "bête".encode()[:2], b"\xff\xd8\xff\xe0" + bytes(range(20)) * 10):
        with pytest.raises(InputError, match=r"is not UTF-8 text|NUL byte"):
            any_text(data, "a.csv")


def test_utf16_without_a_mark() -> None:
    for encoding in ("utf-16-le", "utf-16-be"):
        data = "p,кот\n0.5,1\n".encode(encoding)
        text, notes = any_text(data, "a.csv")
        assert text.decode() == "p,кот\n0.5,1\n"
        assert notes == ["The text is read as UTF-16, whose mark (BOM) is missing."]
        assert next(utf8_blocks(io.BytesIO(data), 1000, "a.csv", True, []))[0].decode() == "p,кот\n0.5,1\n"
    for data in (b"p,\0y\n", b"\0\0\0\0", b"p\0,\0y\0\n\0\0"):
        with pytest.raises(InputError, match="NUL byte"):
            any_text(data, "a.csv")


@pytest.mark.parametrize("encoding", ["mac-roman", "cp1251", "utf-16-le", "utf-8"])
def test_all_parts_of_a_long_file_have_one_code_page(
    encoding: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Parts without a letter beyond ASCII, or with one that other pages have, too, follow the first that has any."""
    word = "кот" if encoding == "cp1251" else "bête"
    labels = [word if i % 7 == 0 else "a" for i in range(600)]
    rows = "".join(f"0.{i % 9 + 1},0.{9 - i % 9},{label}\n" for i, label in enumerate(labels))
    path = tmp_path / "a.csv"
    path.write_bytes(f"p_a,p_{word},label\n{rows}".encode(encoding))
    monkeypatch.setattr(streams, "TEXT_BYTES", 2000)
    parts = list(StreamedFile(path))
    assert len(parts) > 2
    assert sum(len(part.notes) for part in parts) == (encoding != "utf-8")
    assert {part.class_names for part in parts} == {("a", word)}
    found = np.concatenate([part.true_labels for part in parts if part.true_labels is not None])
    assert found.tolist() == [label == word for label in labels]


def test_names_in_json_lines() -> None:
    lines = '{"probs": [0.7, 0.3], "label": "bête"}\n{"probs": [0.4, 0.6], "label": "chat"}\n'
    table = read_table(lines.encode("cp1252"), "a.jsonl")
    assert table.columns["label"].tolist() == ["bête", "chat"]
    assert "Windows-1252" in table.notes[0]
