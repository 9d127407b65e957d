"""The event of two classes: found by names, chosen, preserved by every change of the rows, and its claims."""

import numpy as np
import pytest

from calib_core import InputError, NotAnswerable, Predictions, Summary, estimate
from calib_core.calibrators import as_calibrator
from calib_core.predictions.event_names import event_of, title_of_event
from calib_core.reductions import ClassSpecific, Event, notions_of
from calib_core.summaries import tally


@pytest.mark.parametrize(
    ("names", "event"),
    [
        (("0", "1"), "1"),
        (("1", "0"), "1"),
        (("2", "1"), "2"),
        (("-1", "1"), "1"),
        (("yes", "no"), "yes"),
        (("True", "False"), "True"),
        (("died", "survived"), "died"),
        (("alive", "lost to follow-up"), "lost to follow-up"),
        (("fraud", "no fraud"), "fraud"),
        (("no_event", "event"), "event"),
        (("not spam", "eggs"), "eggs"),
        (("ja", "nein"), "ja"),
        (("case", "control"), "case"),
        (("cat", "dog"), "dog"),
        (("good", "paid"), "paid"),
    ],
)
def test_the_event_is_found_by_the_names(names, event):
    assert names[event_of(names)] == event


def two(n=40, names=("died", "survived"), seed=0):
    rng = np.random.default_rng(seed)
    p = rng.uniform(0.05, 0.6, n)
    y = np.where(rng.uniform(size=n) < p, 0, 1)
    return Predictions(np.column_stack([p, 1 - p]), y, class_names=names)


def test_a_chosen_event_stays_through_every_change_of_the_rows():
    chosen = two().with_event("survived")
    fit, test = chosen.split(0.5)
    others = (
        chosen.take([3, 1]),
        fit,
        test,
        chosen.with_probs(1 - chosen.probs),
        chosen.replace(labels=1 - chosen.true_labels),
        chosen.relabelled(chosen.true_labels),
        chosen.as_discrete(),
        chosen.answered,
        as_calibrator("temperature").fit_on(fit).apply(test),
        chosen.with_parts([fit, test], [np.arange(20), np.arange(20, 40)], "parts"),
    )
    assert [each.event for each in others] == [1] * len(others)
    assert chosen.with_event(0).event == two().event == 0


def test_without_two_classes_there_is_no_event():
    three = Predictions(np.full((3, 3), 1 / 3), [0, 1, 2])
    bare = Predictions.from_confidence([0.7], [True])
    top = Predictions.from_confidence([0.7], predicted=["a"], labels=["b"], class_names=["a", "b"])
    for each in (three, bare, top):
        assert each.event is None
        assert "event" not in notions_of(each)
        with pytest.raises(NotAnswerable, match="two classes"):
            Event().split(each)
        with pytest.raises(InputError, match="needs two classes"):
            each.with_event(0)
    with pytest.raises(InputError, match="'died'"):
        two().with_event("alive")
    with pytest.raises(InputError):
        two().with_event(2)


def test_its_claims_are_those_about_that_class_of_rows_and_of_counts():
    rows = two(200)
    assert notions_of(rows)[0] == "event"
    for event in (0, 1):
        here, there = Event().split(rows.with_event(event)), ClassSpecific(event).split(rows)
        np.testing.assert_array_equal(here.scores, there.scores)
        np.testing.assert_array_equal(here.outcomes, there.outcomes)
        assert here.strata == (rows.class_names[event],)
    counted = Summary.of(rows)
    assert counted.event == 0
    assert estimate(counted, "event").value == estimate(rows, "event").value


def test_the_event_of_rows_and_of_their_summary_is_named_by_the_outcomes_column():
    rows = two(names=("0", "1")).with_outcome("died")
    assert title_of_event(rows) == title_of_event(Summary.of(rows)) == "died"
    assert title_of_event(tally(rows, "event")) == "1"
