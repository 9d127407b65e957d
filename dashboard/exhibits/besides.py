"""The side effects of a calibrator in sentences: a line of a table in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from calib_core.text import count, short_percent
from calib_core.text import percent as to_a_tenth

SURE = short_percent(0.95)
"""How sure a model is of the rows that are counted."""


def effects(line: Mapping[Any, Any]) -> tuple[tuple[str, str], ...]:
    """The side effects of one calibrator in sentences, each with the name of the icon that goes before it.

    ``line`` is a line of the table of side effects.

    >>> line = {"accuracy": 0.9, "accuracy_before": 0.9, "class_changed": 0.0, "keeps_order": True, "abstained": 0.0}
    >>> line |= {"sure": 10, "sure_before": 12, "sure_right": 0.9, "sure_right_before": 0.5}
    >>> for icon, sentence in effects(line):
    ...     print(icon, sentence)
    check Accuracy stays 90.0 %, and so does the order of the classes.
    equal Predictions of 95 % or more: 12 before, 10 after; accuracy 50.0 % before and 90.0 % after.
    """
    if "risk" in line:
        return _of_risk(line)
    silent = [("block", f"It abstains on {short_percent(line['abstained'])} of the rows.")] if line["abstained"] else []
    return (_decisions(line), *silent, ("equal", _sure(line)))


def _of_risk(line: Mapping[Any, Any]) -> tuple[tuple[str, str], ...]:
    """The same of an event's risk: its mean, and the rows whose risk crosses 50 %."""
    was, now, observed = (to_a_tenth(line[name]) for name in ("risk_before", "risk", "observed"))
    verb = f"stays {now}" if was == now else f"{'falls' if line['risk'] < line['risk_before'] else 'rises'} to {now}"
    mean = f"The mean risk of {was} {verb}; the observed frequency is {observed}."
    silent = [("block", f"It abstains on {short_percent(line['abstained'])} of the rows.")] if line["abstained"] else []
    old, new = (to_a_tenth(line[name]) for name in ("accuracy_before", "accuracy"))
    moved = line["class_changed"]
    if moved == 0:
        decisions = ("check", "No risk crosses 50 %.")
    else:
        accuracy = (
            f"accuracy at this threshold stays {new}" if old == new else f"accuracy there goes from {old} to {new}"
        )
        decisions = ("swap_horiz", f"The risks of {short_percent(moved)} of the rows cross 50 %; {accuracy}.")
    return (("equal", mean), *silent, decisions)


def _decisions(line: Mapping[Any, Any]) -> tuple[str, str]:
    now, was = (to_a_tenth(line[name]) for name in ("accuracy", "accuracy_before"))
    if line["class_changed"] == 0 and not line["abstained"]:
        order = ", and so does the order of the classes" if line["keeps_order"] else "; no prediction changes"
        return "check", f"Accuracy stays {now}{order}."
    moved = line["class_changed"]
    changed = "" if moved != moved else f"; {short_percent(moved) if moved else 'none'} of the predictions change"
    among = " among the rows answered" if line["abstained"] else ""
    verb = f"stays {now}" if now == was else f"goes from {was} to {now}"
    return "swap_horiz", f"Accuracy {verb}{among}{changed}."


def _sure(line: Mapping[Any, Any]) -> str:
    before, after = (count(int(line[name])) if line[name] else "none" for name in ("sure_before", "sure"))
    rows = f"Predictions of {SURE} or more: {before} before, {after} after"
    known = [(when, line[name]) for when, name in (("before", "sure_right_before"), ("after", "sure_right"))]
    right = [f"{to_a_tenth(value)} {when}" for when, value in known if value == value]
    return f"{rows}; accuracy {' and '.join(right)}." if right else f"{rows}."
