"""Detections matched with true boxes: by hand, against pycocotools, and against the loop of its evaluation."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import calib_core as cc
from calib_core.predictions.predictions import InputError
from calib_core.readers import as_csv, examine, limits, propose, read_table, with_labels
from calib_core.readers.foreign import coco
from calib_core.readers.foreign.coco import Boxes, matched
from calib_core.readers.table import Table
from tests.corpus.coco_files import FOUND, TRUE, annotations, results
from tests.support.sentences import matches

GOLDEN = json.loads(Path(__file__, "../../../../corpus/coco_matches.json").resolve().read_text())
HALF, STRICT = "matched at IoU 0.50", "matched at IoU 0.75"


def joined(found: list[tuple[float, ...]], true: list[tuple[int, ...]], images: range = range(20)) -> Table:
    return with_labels(read_table(results(found), "results.json"), read_table(annotations(true, images), "ann.json"))


def by_place(rows: list[list[float]]) -> Boxes:
    """Return rows of image, category, box and one more value."""
    every = np.array(rows, dtype=float).reshape(-1, 7)
    return Boxes(every[:, 2:6], (10 * every[:, 0] + every[:, 1]).astype(int))


def evaluated(found: list[list[float]], true: list[list[float]], threshold: float, most: int) -> list[int]:
    """Run the loop of COCOeval.evaluateImg, with positions of true boxes as their ids; -2 for ignored detections."""
    match = [-2] * len(found)
    for place in {(row[0], row[1]) for row in found}:
        mine = sorted((i for i, row in enumerate(found) if (row[0], row[1]) == place), key=lambda i: -found[i][6])
        boxes = sorted((j for j, row in enumerate(true) if (row[0], row[1]) == place), key=lambda j: true[j][6])
        taken: set[int] = set()
        for i in mine[:most]:
            best, m = min(threshold, 1 - 1e-10), -1
            for j in boxes:
                if j in taken and not true[j][6]:
                    continue
                if m > -1 and not true[m][6] and true[j][6]:
                    break
                if (overlap := iou(found[i][2:6], true[j][2:6], bool(true[j][6]))) < best:
                    continue
                best, m = overlap, j
            match[i] = m
            taken |= {m} - {-1}
    return match


def iou(d: list[float], t: list[float], crowd: bool) -> float:
    """Return intersection over union of two boxes; over the first only in a crowd."""
    w = min(d[0] + d[2], t[0] + t[2]) - max(d[0], t[0])
    h = min(d[1] + d[3], t[1] + t[3]) - max(d[1], t[1])
    if w <= 0 or h <= 0:
        return 0.0
    return w * h / (d[2] * d[3] if crowd else d[2] * d[3] + t[2] * t[3] - w * h)


def ours(found: list[list[float]], true: list[list[float]], thresholds: list[float]) -> np.ndarray:
    scores, crowds = np.array([row[6] for row in found]), np.array([bool(row[6]) for row in true], dtype=bool)
    matches, part = matched(by_place(found), scores, by_place(true), crowds, thresholds)
    return np.where(part[:, None], matches, -2)


def test_the_same_matches_as_pycocotools() -> None:
    """The numbers are small and whole, so that overlaps and scores tie; a fifth of the true boxes are crowds."""
    thresholds = [float(t) for t in GOLDEN["matches"]]
    expected = np.array(list(GOLDEN["matches"].values())).T - 1
    np.testing.assert_array_equal(ours(GOLDEN["detections"], GOLDEN["annotations"], thresholds), expected)


SIDE = st.integers(0, 4)
ROW = st.tuples(st.integers(1, 2), st.integers(1, 2), SIDE, SIDE, SIDE, SIDE)
FOUND_ROW = st.tuples(ROW, st.integers(1, 3)).map(lambda r: [*r[0], r[1] / 4])
TRUE_ROW = st.tuples(ROW, st.booleans()).map(lambda r: [*r[0], float(r[1])])


@given(st.lists(FOUND_ROW, min_size=1, max_size=12), st.lists(TRUE_ROW, max_size=8), st.sampled_from([1, 3, 100]))
def test_the_same_matches_as_the_loop(found: list[list[float]], true: list[list[float]], most: int) -> None:
    thresholds = [0.1, 0.5, 1.0]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(coco, "MOST_OF_AN_IMAGE", most)
        patched.setattr(coco, "_PAIRS_OF_A_BLOCK", 5)
        expected = [evaluated(found, true, t, most) for t in thresholds]
        np.testing.assert_array_equal(ours(found, true, thresholds).T, expected)


def test_ties_as_the_loop_settles_them() -> None:
    """Ties go to the later true box and the earlier detection, and 1 up to rounding is 1."""
    twice: list[list[float]] = [[1, 1, 0, 0, 10, 10, 0], [1, 1, 0, 0, 10, 10, 0]]
    found: list[list[float]] = [[1, 1, 0, 0, 10, 8, 0.5], [1, 1, 0, 0, 10, 9, 0.5], [1, 1, 0, 0, 10, 10, 0.5]]
    assert ours(found, twice, [0.5])[:, 0].tolist() == evaluated(found, twice, 0.5, 100) == [1, 0, -1]
    nearly: list[list[float]] = [[1, 1, 0, 0, 10, 10 * (1 - 5e-11), 0.5]]
    assert ours(nearly, twice, [1.0])[:, 0].tolist() == evaluated(nearly, twice, 1.0, 100) == [1]


def test_a_small_case_by_hand() -> None:
    """The more confident of two detections of one box is right; one in a crowd is neither; the last box is missed."""
    true = [(1, 1, 0, 0, 10, 10, 0), (1, 1, 100, 0, 50, 50, 1), (2, 2, 0, 0, 10, 10, 0)]
    found = [
        (1, 1, 0, 0, 10, 10, 0.6),  # the box itself, and yet the second to choose
        (1, 1, 0, 0, 10, 6, 0.9),  # overlaps by 0.6
        (1, 1, 110, 10, 10, 10, 0.8),  # inside the crowd, whose region is 25 times as large
        (1, 1, 120, 10, 10, 10, 0.7),  # a second one inside
        (1, 2, 0, 0, 10, 10, 0.5),  # another category
        (2, 1, 0, 0, 10, 10, 0.4),  # another category than the box of this image
        (3, 1, 0, 0, 10, 10, 0.3),  # an image without any box
    ]
    both = joined(found, true, range(1, 4))
    assert both.columns[HALF].tolist() == ["0", "1", "", "", "0", "0", "0"]
    assert both.columns[STRICT].tolist() == ["1", "0", "", "", "0", "0", "0"]
    messages = [f.message for f in examine(both, propose(both))]
    assert any(matches(each, "*20.0 % of 5 boxes are right. 2 boxes in crowd regions left out*") for each in messages)
    assert any("1 of 2 true boxes have no match" in each for each in messages)
    assert not any("lack a value" in each for each in messages)
    p = cc.read_predictions(as_csv(both), "both.csv")
    assert p.confidence.tolist() == [0.6, 0.9, 0.5, 0.4, 0.3]
    assert p.correct.tolist() == [False, True, False, False, False]


def test_files_are_matched_and_images_belong_together(tmp_path: Path) -> None:
    (tmp_path / "results.json").write_bytes(
        results([*FOUND, FOUND[0], (99, 1, 0, 0, 1, 1, 0.5), (1, 7, 0, 0, 1, 1, 0.5)])
    )
    (tmp_path / "instances.json").write_bytes(annotations(TRUE, range(20)))
    p = cc.read_predictions(tmp_path / "results.json", labels=tmp_path / "instances.json")
    assert p.accuracy == 7 / 21
    assert p.row_groups is not None
    assert p.row_groups.name == "image_id"
    assert p.metadata is not None
    assert list(p.metadata) == ["category", "box size"]
    assert set(p.metadata["category"]) == {"cat", "dog"}
    assert set(p.metadata["box size"]) == {"medium"}
    assert '1 box left out: images not in instances.json: "99".' in p.notes
    assert '1 box left out: categories not in instances.json: "7".' in p.notes
    strict = cc.read_predictions(tmp_path / "results.json", labels=tmp_path / "instances.json", correct=STRICT)
    assert strict.accuracy == 3 / 21


def test_what_is_beyond_the_surest_of_an_image_is_left_out() -> None:
    both = joined([(1, 1, k, 0, 5, 5, k / 1000) for k in range(103)], TRUE)
    assert both.n_rows == 100
    assert both.columns["confidence"].min() == 0.003
    assert both.notes[-1].startswith("3 boxes left out: beyond the 100 ")


def test_a_run_saved_twice_is_told() -> None:
    both = joined([*FOUND, *FOUND[:3]], TRUE)
    assert both.columns[HALF].tolist()[20:] == ["0", "0", "0"]
    assert both.notes[-1].startswith("3 boxes equal to an earlier one")
    assert not joined(FOUND, TRUE).notes


def test_detections_that_are_saved_as_annotations_with_scores() -> None:
    rows = json.loads(annotations([(*row[:6], 0) for row in FOUND], range(20)))
    for each, row in zip(rows["annotations"], FOUND, strict=True):
        each["score"] = row[-1]
    found = read_table(json.dumps(rows).encode(), "found.json")
    both = with_labels(found, read_table(annotations(TRUE, range(20)), "ann.json"))
    expected = joined(FOUND, TRUE)
    assert {name: column.tolist() for name, column in both.columns.items()} == {
        name: column.tolist() for name, column in expected.columns.items()
    }


def test_counts_that_somebody_wrote_into_the_matched_file_are_no_crash() -> None:
    text = as_csv(joined(FOUND, TRUE)).decode().replace(",20,1,", ",1e400,1,", 1).replace(",20,1,", ",x,1,", 1)
    table = read_table(text.encode(), "both.csv")
    assert any("13 of 20 true boxes have no match" in f.message for f in examine(table, propose(table)))


BOX = {"image_id": 1, "category_id": 1, "bbox": [0, 0, 9, 9], "score": 0.5}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"bbox": [0, 0, 9]}, 'record 0: bbox is "[0, 0, 9]"'),
        ({"bbox": [0, 0, -9, 9]}, "a width and height of 0 or more"),
        ({"bbox": None, "segmentation": {"counts": "a", "size": [9, 9]}}, "is a mask or keypoints without a box"),
        ({"bbox": None, "keypoints": [1, 2, 2]}, "is a mask or keypoints without a box"),
    ],
)
def test_what_is_no_box_is_refused(change: dict[str, object], says: str) -> None:
    with pytest.raises(InputError, match=r"results\.json, record 0") as refused:
        read_table(json.dumps([{**BOX, **change}]).encode(), "results.json")
    assert says in str(refused.value)


def test_masks_beside_boxes_missing_scores_and_other_spellings_of_an_id() -> None:
    rows = [BOX | {"image_id": 1.0, "segmentation": {}}, BOX | {"image_id": "1"}, BOX | {"score": None}]
    found = read_table(json.dumps(rows).encode(), "results.json")
    both = with_labels(found, read_table(annotations([(1, 1, 0, 0, 9, 9, 0)], range(3)), "ann.json"))
    assert both.columns[HALF].tolist() == ["1", "0"]
    assert "1 record has no score" in both.notes[0]
    assert "matched by their boxes only" in both.notes[1]


LVIS = [{"id": 1, "neg_category_ids": [2], "not_exhaustive_category_ids": []}]


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"images": LVIS}, "LVIS annotations"),
        ({"images": []}, "has no images"),
        ({"categories": [3]}, "entry 0 of categories is not an object"),
    ],
)
def test_annotations_that_cannot_be_matched_with(more: dict[str, object], says: str) -> None:
    with pytest.raises(InputError, match=says):
        read_table(annotations(TRUE, range(20), more), "ann.json")


def test_files_that_do_not_fit() -> None:
    found, true = read_table(results(FOUND), "results.json"), read_table(annotations(TRUE, range(20)), "ann.json")
    with pytest.raises(InputError, match="Give the file of detections first"):
        with_labels(true, found)
    with pytest.raises(InputError, match=r"ann\.json .* without a key"):
        with_labels(found, true, ())
    with pytest.raises(InputError, match=r"results\.json has no true boxes"):
        with_labels(found, found)
    with pytest.raises(InputError, match="of the same data"):
        joined([(50, 1, 0, 0, 9, 9, 0.5)], TRUE)
    shares = joined([(i, 1 + i % 2, 0.1, 0.1, 0.2, 0.2, 0.5 + i / 100) for i in range(20)], TRUE)
    assert any(f.message.startswith("No box is matched") for f in examine(shares, propose(shares)))


def test_boxes_of_one_image_alone_belong_to_no_group() -> None:
    assert propose(joined([(1, 1, 0, 0, 9, 9, 0.5), (1, 1, 9, 9, 9, 9, 0.4)], TRUE)).group is None


def test_too_many_boxes_of_one_image_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "BOX_PAIRS", 19)
    with pytest.raises(InputError, match=r"results\.json: more than 19 pairs of boxes need a comparison"):
        joined(FOUND, TRUE)
    monkeypatch.setattr(limits, "BOX_PAIRS", 20)
    monkeypatch.setattr(limits, "BOX_OVERLAPS", 16)
    with pytest.raises(InputError, match=r"results\.json: more than 16 pairs of boxes overlap"):
        joined(FOUND, TRUE)


def test_annotations_of_one_long_line_are_a_document(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "LINE_BYTES", 1000)
    assert read_table(annotations(TRUE, range(20)) + b"\n", "ann.json").n_rows == 20
    with pytest.raises(InputError, match="line 1 is longer than"):
        read_table(b'{"p": ' + b"1" * 2000 + b'}\n{"p": 2}\n', "a.jsonl")
