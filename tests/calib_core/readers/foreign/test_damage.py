"""Damaged files of other tools: a message, or the remaining content, and no crash."""

from __future__ import annotations

import json
from typing import Any

import pytest

import calib_core as cc
from calib_core.readers import examine, propose, read_table
from tests.corpus.promises import unfit
from tests.laws.test_foreign_files import FILES

STRANGE = (None, True, "", "x", -1, 1.5, 10**30, [], {}, [None], [[]], [{}], {"a": 1}, "nan", "²", [1, "a"])
"""Values that replace others."""
READ = {which: file for which, (_, file) in FILES.items() if file.filename.endswith((".json", ".jsonl"))}


def records(file: Any) -> tuple[Any, list[dict[str, Any]]]:
    """Return a file's value, and its records inside it."""
    if file.filename.endswith(".jsonl"):
        every = [json.loads(each) for each in file.data.decode().splitlines()]
        return every, every
    value = json.loads(file.data)
    inner = list(value.values()) if isinstance(value, dict) else value
    return value, [each for each in inner if isinstance(each, dict)]


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("which", list(READ)[::6])
@pytest.mark.parametrize("everywhere", [False, True], ids=["one record", "every record"])
def test_a_strange_value_is_no_crash(which: str, everywhere: bool) -> None:
    file = READ[which]
    keys = {key for each in records(file)[1] for key in each}
    for i, key in enumerate(sorted(keys)):
        value, inside = records(file)
        strange = STRANGE[i % len(STRANGE)]
        for each in inside if everywhere else inside[-1:]:
            if i % 2 and key in each:
                del each[key]
            else:
                each[key] = strange
        data = "\n".join(map(json.dumps, value)) if file.filename.endswith(".jsonl") else json.dumps(value)
        try:
            table = read_table(data.encode(), file.filename)
            reading = propose(table, **file.chosen)
            if all(found.severity != "problem" for found in examine(table, reading)):
                cc.readers.predictions(table, reading)
        except cc.InputError as e:
            sentence = str(e)
        else:
            sentence = ""
        assert not unfit(sentence)
