"""Laws of glossary terms: each has one plain sentence, a picture and its description; exhibits name existing terms."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

import calib_core as cc
from dashboard.exhibits import EXHIBITS
from dashboard.glossary import TERMS, Term, named_in
from tests.laws.test_words import code_in

MOST_WORDS = 30


@pytest.mark.parametrize("term", TERMS.values(), ids=TERMS)
def test_a_term_is_one_plain_text_and_a_picture(term: Term) -> None:
    for text in (term.title, term.sentence, term.alt):
        assert not code_in(text), text
        assert text[0].isupper()
        assert not re.search(r"[*_`\[\]<>\\]", text), "read as Markdown"
    assert len(term.sentence.split()) <= MOST_WORDS
    assert term.sentence.endswith(".")
    assert term.alt.endswith(".")
    picture = ET.fromstring(term.picture)
    width, height = (float(picture.get(name, "")) for name in ("width", "height"))
    assert picture.findall(".//"), "something is drawn"
    assert not [part for part in picture.iter() if part.tag.endswith("text")], "its words are beside it"
    assert 60 < height <= width < 140
    for numbers in re.findall(r'd="M([^"]*)"', term.picture):
        found = re.findall(r"-?\d+(?:\.\d+)?", numbers)
        assert all(-1 <= float(number) <= width + 1 for number in found), "within the picture"


def test_no_two_terms_share_a_picture_or_a_sentence() -> None:
    for name in ("title", "sentence", "picture", "alt"):
        assert len({getattr(term, name) for term in TERMS.values()}) == len(TERMS)


def test_exhibits_name_terms_that_are() -> None:
    named = {key: EXHIBITS.make(key).terms for key in EXHIBITS}
    assert {term for terms in named.values() for term in terms} <= TERMS.keys()
    assert all(len(set(terms)) == len(terms) for terms in named.values())
    assert sum(map(bool, named.values())) > 8


def test_names_of_methods_in_a_text_are_explained() -> None:
    assert named_in("p: see below. Spiegelhalter's test.") == ("p-value", "spiegelhalter")
    assert named_in("Holm's correction.") == named_in("corrected for multiple testing") == ("multiple-testing",)
    assert named_in("Top-label histogram binning keeps the class.", "a stamp (p. 7)") == ()


def test_the_sketch_of_over_confidence_lies_below_the_diagonal() -> None:
    dots = re.findall(r'cx="([\d.]+)" cy="([\d.]+)"', TERMS["overconfident"].picture)
    size = float(ET.fromstring(TERMS["overconfident"].picture).get("height", ""))
    assert len(dots) > 1
    assert all(float(x) + float(y) > size for x, y in dots), "what is right, upwards, is less than what is said"


@pytest.mark.parametrize(
    ("key", "number", "calibrated", "if_so", "shift", "factor"),
    [
        ("observed-expected", "ratio", 1, r"(below|above) 1 if they are too high", -1.0, 1.0),
        ("calibration-intercept", "intercept", 0, r"(below|above) 0 if risks are too high", -1.0, 1.0),
        ("calibration-slope", "slope", 1, r"(Below|Above) 1, risks are too spread out", 0.0, 0.5),
    ],
)
def test_a_term_says_on_which_side_its_number_is(
    key: str, number: str, calibrated: float, if_so: str, shift: float, factor: float
) -> None:
    """Computed on outcomes of log-odds that are shifted or less spread out than those predicted."""
    rng = np.random.default_rng(0)
    logit = rng.normal(0, 1.5, 4000)
    died = (rng.random(4000) < 1 / (1 + np.exp(-(shift + factor * logit)))).astype(int)
    risk = 1 / (1 + np.exp(-logit))
    found = getattr(cc.risk.in_the_large(cc.Predictions(np.column_stack([1 - risk, risk]), died)), number)
    said = re.search(if_so, TERMS[key].sentence)
    assert said is not None
    assert said[1].lower() == ("below" if found < calibrated else "above")
