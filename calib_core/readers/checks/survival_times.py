"""A finding about outcomes that were not waited for: a time beside an event, as studies of survival have."""

from __future__ import annotations

from collections.abc import Iterator

from calib_core.readers.checks.finding import Finding
from calib_core.readers.checks.subject import Subject
from calib_core.readers.messages import quoted
from calib_core.readers.number_texts import looks_numeric
from calib_core.readers.proposal.label_codes import plain

_EVENTS = frozenset({"event", "status", "died", "death", "dead"})
_FOLLOWED = ("followup", "follow_up", "follow up", "follow-up", "survival", "time_to_event")
_TIMES = frozenset(
    {"time", "times", "futime", "tte", *_FOLLOWED, *(f"{name}_time" for name in (*_FOLLOWED, "os", "pfs"))}
)


def time_to_event(subject: Subject) -> Iterator[Finding]:
    """A column of times beside a label that is called an event: rows without it may only not have been waited for."""
    table, label = subject.table, subject.reading.label[0]
    if plain(label) not in _EVENTS or subject.scores.shape[1] > 2:
        return
    for name, column in table.columns.items():
        if plain(name) in _TIMES and name not in subject.reading.used and looks_numeric(column):
            yield Finding(
                "warning",
                "time-to-event",
                f"{quoted(name)} stands beside {quoted(label)}: where the event may still come (censored rows), 0 is "
                "no outcome. Probabilities are judged at one time: keep the rows that were followed until then, or had "
                "the event before.",
            )
            return
