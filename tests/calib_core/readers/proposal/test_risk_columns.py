"""Common files of one event: read with the intended meaning, or refused with a message and a remedy."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from calib_core import InputError, Predictions
from calib_core.readers import Reading, Table, examine, propose, read_predictions, read_table
from calib_core.readers.proposal.class_columns import absent_event, other_class, outcome_columns, risk_columns
from tests.corpus.risk_files import OUTCOME, RISK, SEX, N, RiskFile, files, table

FILES = tuple(files())


def read(file: RiskFile, **fields: object) -> Predictions:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return read_predictions(file.data, file.name, **fields)


def as_meant(found: Predictions, file: RiskFile) -> bool:
    """Return True if these are the risks, the outcomes and the event of the file."""
    rows = list(range(N) if file.kept is None else file.kept)
    if found.probs is None or found.event is None or found.n_rows != len(rows):
        return False
    return (
        bool(np.abs(found.probs[:, found.event] - RISK[rows]).max() < 1e-3)
        and np.array_equal(found.labels == found.event, OUTCOME[rows] == 1)
        and (found.class_names or ())[found.event] == file.event
    )


def test_there_are_forty_different_files() -> None:
    assert len({file.data for file in FILES}) == len({file.title for file in FILES}) == len(FILES) >= 40


@pytest.mark.parametrize("file", [f for f in FILES if not f.asks], ids=lambda file: file.title)
def test_is_read_as_it_is_meant_and_what_is_assumed_is_reported(file: RiskFile) -> None:
    found = read(file)
    assert as_meant(found, file)
    notes = " ".join(found.notes)
    assert [part for part in file.says if part not in notes] == []
    other = found.with_event(1 - (found.event or 0))
    assert not as_meant(other, file), "the comparison cannot tell the event from its opposite"


@pytest.mark.parametrize("file", [f for f in FILES if f.asks], ids=lambda file: file.title)
def test_what_the_file_leaves_open_is_asked_in_one_sentence(file: RiskFile) -> None:
    with pytest.raises(InputError) as why:
        read(file)
    assert [part for part in file.asks if part not in str(why.value)] == []
    assert not file.answer or as_meant(read(file, **file.answer), file)


def test_a_chosen_label_is_no_longer_warned_of() -> None:
    data = table({"risk": RISK.tolist(), "y30": OUTCOME.tolist(), "sex": SEX.tolist()})
    with pytest.warns(UserWarning, match='"y30" contains only 0 and 1, so it is read as the outcome'):
        read_predictions(data, "risk.csv")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not any("outcome" in note for note in read_predictions(data, "risk.csv", label="y30").notes)


@pytest.mark.parametrize("label", ["died", "readmit30", "is_fraud", "y30"])
def test_the_only_possible_outcome_is_a_note_rather_than_a_warning(label: str) -> None:
    data = table({"risk": RISK.tolist(), label: OUTCOME.tolist()})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (note,) = [note for note in read_predictions(data, "risk.csv").notes if "is read as the outcome" in note]
    assert note.startswith(f'"{label}" contains only 0 and 1')


def test_another_column_of_two_values_is_one_change_away() -> None:
    data = table({"sex": SEX.tolist(), "risk": RISK.tolist(), "died": OUTCOME.tolist()})
    found = read_table(data, "risk.csv")
    (told,) = [each for each in examine(found, propose(found)) if each.code == "outcome"]
    assert told.change == {"label": ("sex",)}
    assert propose(found, **told.change).label == ("sex",)


def test_a_label_of_that_name_or_of_another_file_is_not_warned_of() -> None:
    named = read_table(table({"risk": RISK.tolist(), "outcome": OUTCOME.tolist()}), "risk.csv")
    assert not [each for each in examine(named, propose(named)) if each.code == "outcome"]


def test_the_event_of_a_reading_is_the_event_of_its_predictions() -> None:
    data = table({"risk": RISK.tolist(), "died": OUTCOME.tolist()})
    chosen = read(RiskFile("", data), event="0")
    assert (read(RiskFile("", data)).event, chosen.event) == (1, 0)
    again = Reading.from_json(propose(read_table(data, "risk.csv"), event="0").to_json())
    assert again.event == "0"
    with pytest.raises(InputError, match=r'event "none" is not a class; the classes are "0", "1"'):
        read(RiskFile("", data), event="none")


def test_the_name_of_an_outcome_column_of_0_and_1_is_class_1() -> None:
    data = table({"risk": RISK.tolist(), "died": OUTCOME.tolist()})
    named = read(RiskFile("", data), event="died")
    assert (named.event, named.class_names) == (1, ("0", "1"))
    assert propose(read_table(data, "risk.csv"), event="died") == propose(read_table(data, "risk.csv"), event="1")
    with pytest.raises(InputError, match=r'did you mean "died"\?.*"died", also selects class "1"'):
        read(RiskFile("", data), event="dyed")
    with pytest.raises(InputError, match=r'event "died" is not a class'):
        Reading(scores=("p",), label=("died",), classes=("no", "yes"), label_coding="names", event="died")


def test_a_risk_of_dying_beside_survivors_is_about_those_who_died() -> None:
    alive = 1 - OUTCOME
    found = read(RiskFile("", table({"p_death": RISK.tolist(), "alive": alive.tolist()})))
    assert found.probs is not None
    assert found.event is not None
    assert found.class_names is not None
    assert found.class_names[found.event] == "0"
    np.testing.assert_allclose(found.probs[:, found.event], RISK, atol=1e-9)
    assert np.array_equal(found.labels == found.event, OUTCOME == 1)


@pytest.mark.parametrize(
    ("score", "label", "opposite"),
    [
        ("risk", "died", False),
        ("p_survived", "died", True),
        ("pSurvived", "Died", True),
        ("survival_prob", "mortality_30d", True),
        ("p_survived", "survived", False),
        ("p_survived", "outcome", True),
        ("risk", "survived", None),
        ("p_no_recurrence", "recurrence", True),
        ("risk_no_treatment", "died", False),
        ("p_no_recurrence", "no_recurrence", False),
        ("p_0", "y", True),
        ("p_false", "label", True),
        ("prob_no_event", "y", True),
        ("prob_negative", "target", True),
        ("p_legit", "is_fraud", True),
        ("p_gesund", "krank", True),
        ("p_1", "y", False),
        ("p_n", "y", False),
        ("prob_alive", "dead", True),
    ],
)
def test_names_of_opposite_outcomes(score: str, label: str, opposite: bool | None) -> None:
    assert other_class(score, label) is opposite
    assert not absent_event(score, label)


def test_a_column_known_beforehand_is_never_taken_for_the_outcome() -> None:
    t = Table("a.csv", "csv", {"risk": RISK, "sex": OUTCOME, "treated": OUTCOME, "smoker": OUTCOME})
    assert outcome_columns(t) == ()
    with pytest.raises(InputError, match="no column is recognized as the labels"):
        propose(t)


def test_the_ends_of_an_interval_are_no_risk_of_their_own() -> None:
    columns = {"prob_death": RISK, "prob_death_lower": RISK / 2, "prob_death_upper": np.sqrt(RISK), "died": OUTCOME}
    assert risk_columns(Table("a.csv", "csv", columns), tuple(columns)) == ("prob_death",)


def test_several_values_are_no_outcome_of_an_event() -> None:
    stage = np.arange(N) % 4
    assert outcome_columns(Table("a.csv", "csv", {"risk": RISK, "stage": stage, "status": stage})) == ()
