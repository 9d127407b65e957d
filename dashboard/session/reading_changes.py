"""User's changes to how a file is read, as the short text in a link."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from calib_core import InputError
from calib_core.readers import Reading


def written_changes(proposal: Reading | None, reading: Reading) -> str:
    """Return the differences between a reading and the proposal as JSON; empty if there are none.

    A link that contains only the changes stays short for a thousand classes.

    >>> r = Reading(scores=("p",), label=("y",))
    >>> written_changes(r, r.replace(kind="logits")), written_changes(r, r)
    ('{"kind":"logits"}', '')
    """
    if proposal is None:
        return reading.to_json()
    changed = differences(proposal, reading)
    return json.dumps(changed, sort_keys=True, ensure_ascii=False, separators=(",", ":")) if changed else ""


def differences(proposal: Reading | None, reading: Reading) -> dict[str, Any]:
    """Return the fields in which a reading differs from the proposal; without one, those that are set."""
    fields = {f.name: getattr(reading, f.name) for f in dataclasses.fields(Reading)}
    if proposal is None:
        return {name: value for name, value in fields.items() if value}
    return {name: value for name, value in fields.items() if value != getattr(proposal, name)}


def changed_fields(changed: str) -> frozenset[str]:
    """Return the names of the fields that ``written_changes`` wrote; empty for anything else.

    >>> changed_fields('{"kind":"logits"}'), changed_fields("")
    (frozenset({'kind'}), frozenset())
    """
    try:
        changes = json.loads(changed)
    except (ValueError, RecursionError):
        return frozenset()
    return frozenset(changes) if isinstance(changes, dict) else frozenset()


def with_changes(proposal: Reading | None, changed: str) -> Reading:
    """Return the reading that ``written_changes`` wrote; InputError for anything else.

    >>> with_changes(Reading(scores=("p",), label=("y",)), '{"kind":"logits"}').kind
    'logits'
    """
    if proposal is None or not changed:
        return proposal or Reading.from_json(changed)
    try:
        changes = json.loads(changed)
    except (ValueError, RecursionError) as why:
        raise InputError("The changes to the reading are not valid JSON. Choose the columns again.") from why
    if not isinstance(changes, dict):
        raise InputError("The changes to the reading are not a JSON object. Choose the columns again.")
    return proposal.replace(**changes)
