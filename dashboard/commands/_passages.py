"""Results of a gate for every file, and their forms: text, JSON, GitHub annotations, JUnit XML."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dashboard.commands import _failures, _outputs, _test_reports

if TYPE_CHECKING:  # heavy: a command imports them when it runs
    from calib_core.inference import GateCheck
    from dashboard.commands._opened_models import Opened

WITHIN, NOT_WITHIN = 0, 1
COULD_NOT, UNDECIDED = "could not run", "undecided"
_OF_A_SUBSET = (
    "The result is about all judged rows together. At least one part of them (a bin, class or slice) has a significant "
    "error:"
)
_SHOWS_ALL = "To see all such parts, run calib show findings FILE."


@dataclass(frozen=True)
class Passage:
    """Result for one file: its check, or one sentence on why there is none, and the time taken.

    ``subset`` is the first significant finding on a subset of the rows, empty if there is none.
    """

    path: Path
    name: str
    seconds: float
    opened: Opened | None = None
    check: GateCheck | None = None
    why: str = ""
    judged_on: str = ""
    subset: str = ""

    @property
    def passed(self) -> bool:
        return self.check is not None and self.check.passed

    @property
    def undecided(self) -> bool:
        return self.check is not None and self.check.undecided

    @property
    def word(self) -> str:
        return COULD_NOT if self.check is None else UNDECIDED if self.undecided else self.check.word

    @property
    def headline(self) -> str:
        """Return one line: PASS, FAIL or UNDECIDED, the verdict, its evidence, and the evaluated rows."""
        if self.check is None or self.opened is None:
            return f"{COULD_NOT}: {self.why}"
        result = "PASS" if self.passed else "UNDECIDED" if self.undecided else "FAIL"
        return f"{result}: {self.check.brief}; {self.opened.file.title}, judged on {self.judged_on}"

    @property
    def text(self) -> tuple[str, ...]:
        """Return the lines of the command's text output for the file."""
        if self.check is None:
            return (self.headline,)
        subset = f"{_OF_A_SUBSET} {self.subset} {_SHOWS_ALL}" if self.subset else ""
        return tuple(filter(None, (self.headline, *self._warnings, self.check.sentence, subset, self.check.about)))

    @property
    def _warnings(self) -> Iterator[str]:
        """Lines on the warnings that keep the file from passing, and on those that were accepted."""
        assert self.check is not None
        if self.undecided:
            settle = "a warning is open. Change the file or the options, or accept the warning."
            if len(self.check.open) > 1:
                settle = "warnings are open. Settle or accept each of them."
            yield f"The error is within the limit, but the file does not pass while {settle}"
            for each in self.check.open:
                accept = f"To accept the warning, add --accept {each.code}"
                yield " ".join(filter(None, (f"Warning: {each.message}", _ended(each.remedy), f"{accept}.")))
        elif self.passed and self.check.accepted:
            yield f"Accepted warnings: {', '.join(self.check.accepted)}."

    @property
    def remarks(self) -> list[str]:
        """Return the remarks on how the file was read, including omitted rows."""
        return [] if self.opened is None else [_outputs.plain(line) for line in self.opened.remarks]

    def record(self) -> dict[str, Any]:
        """Return the result as plain values, for JSON."""
        found: dict[str, Any] = {"verdict": None, "passed": False, "error": self.why}
        if self.check is not None and self.opened is not None:
            from calib_core.inference.gate_baselines import signing_key

            found = self.check.record(self.name, signing_key()) | {"file": self.opened.record()}
            found["judged"] = self.judged_on
            found["subset"] = self.subset or None
        return found | {"path": _outputs.plain(self.path)}


def _ended(text: str) -> str:
    return f"{text}." if text and text[-1] not in ".!?" else text


def exit_code(passages: Sequence[Passage]) -> int:
    """Return the exit code: 0 if every file passes, 2 if one could not be checked or is undecided, otherwise 1."""
    if any(each.check is None or each.undecided for each in passages):
        return _failures.COULD_NOT_RUN
    return WITHIN if all(each.passed for each in passages) else NOT_WITHIN


def _count(passages: Sequence[Passage]) -> str:
    passed, files = sum(each.passed for each in passages), len(passages)
    if files == 1:
        return "passed" if passed else passages[0].word
    return f"{passed} of {files} files pass"


# -- text -----------------------------------------------------------------------------------------------------


def write_text(passages: Sequence[Passage]) -> None:
    """Print the verdict of every file to stdout, and failures to stderr."""
    from dashboard.exhibits import line_words

    for place, each in enumerate(passages):
        if each.check is None:
            _say_why(each, several=len(passages) > 1)
            continue
        if place:
            click.echo()
        _outputs.tell(each.text)
    if terms := line_words.definitions_in(text for each in passages if each.check is not None for text in each.text):
        _outputs.tell(terms)
    if len(passages) > 1:
        click.echo(f"\n{_count(passages)}.")


def _say_why(passage: Passage, several: bool) -> None:
    of = f"{passage.name}: " if several and passage.name not in passage.why else ""
    _outputs.warn([f"{click.get_current_context().command_path}: {of}{passage.why}"])


# -- JSON -----------------------------------------------------------------------------------------------------


def write_record(passages: Sequence[Passage], options: dict[str, Any]) -> None:
    """Print one record to stdout, as gate.schema.json describes it."""
    from calib_core.inference.gate_baselines import SCHEMA

    code = exit_code(passages)
    checks = [each.record() for each in passages]
    record = {"schema": SCHEMA, "passed": code == WITHIN, "exit_code": code, "options": options, "checks": checks}
    _outputs.write_json(record)
    for each in passages:
        if each.check is None:
            _say_why(each, several=len(passages) > 1)


# -- GitHub ---------------------------------------------------------------------------------------------------

_MARKUP = {ord(c): f"\\{c}" for c in "\\`*_{}[]<>#|~!&:@$"}


def markdown(text: object) -> str:
    r"""Escape text for one cell of a Markdown table: nothing in it is markup, a link or the end of a line.

    >>> markdown("a|b\n<i>*::##[error]")
    'a\\|b\\\\n\\<i\\>\\*\\:\\:\\#\\#\\[error\\]'
    """
    return _outputs.plain(text).translate(_MARKUP).replace("www.", "www\\.")


def annotation(passage: Passage) -> str:
    """Return one line that GitHub shows next to the file, escaped by its rules."""
    texts = passage.text[1:] or (passage.why,)
    kind = "notice" if passage.passed else "error"
    return _annotated(passage, kind, passage.word, f"{passage.name}: {' '.join(texts)}")


def remarked(passage: Passage) -> list[str]:
    """Return a second line with the remarks on how the file was read, if there are any."""
    return [_annotated(passage, "notice", "how it was read", " ".join(passage.remarks))] if passage.remarks else []


def _annotated(passage: Passage, kind: str, title: str, text: str) -> str:
    return _test_reports.annotation(passage.path, kind, f"calib gate: {title}", text)


def summary(passages: Sequence[Passage]) -> str:
    """Return a Markdown table with one line per file, and below it the evidence for each."""
    limited = any(each.check is not None and each.check.limit is not None for each in passages)
    grown = any(each.check is not None and each.check.growth is not None for each in passages)
    heads = ["", "file", "verdict", "error", "estimate", "interval", "raw value", *(["limit"] if limited else []),
             *(["increase (interval)", "allowed"] if grown else []), "rows"]  # fmt: skip
    lines = [f"### calib gate: {markdown(_count(passages))}", "", _row(heads), _row(["---"] * len(heads), raw=True)]
    lines += [_row(_cells(each, limited, grown)) for each in passages]
    lines += [""] + [f"- {markdown(each.name)}: {markdown(' '.join(each.text[1:] or each.text))}" for each in passages]
    lines += [f"- {markdown(remark)}" for each in passages for remark in each.remarks]
    return "\n".join(lines) + "\n"


def _row(cells: Sequence[str], raw: bool = False) -> str:
    return f"| {' | '.join(cell if raw else markdown(cell) for cell in cells)} |"


def _cells(passage: Passage, limited: bool, grown: bool) -> list[str]:
    from calib_core.text import at_level, points, short_percent

    check = passage.check
    if check is None:
        return ["fail", passage.name, COULD_NOT, *["–"] * (5 + limited + 2 * grown)]
    line, growth = check.first.line, check.growth
    result = "pass" if check.passed else UNDECIDED if check.undecided else "fail"
    cells = [result, passage.name, check.word, line.title, line.written(line.point),
             f"{line.interval} ({at_level(line.level)})", line.written(line.value)]  # fmt: skip
    cells += [] if not limited else ["–" if check.limit is None else short_percent(check.limit)]
    cells += (
        []
        if not grown
        else ["–", "–"]
        if growth is None
        else [growth.between, points(growth.allowed).removeprefix("+")]
    )
    return [*cells, f"{line.rows:,}"]


def write_annotations(passages: Sequence[Passage]) -> None:
    """Print annotations to stdout, and the table to the summary of the step; to stdout if there is none."""
    for each in passages:
        for line in (annotation(each), *remarked(each)):
            click.echo(line)
    table, place = summary(passages), os.environ.get("GITHUB_STEP_SUMMARY")
    if not place:
        click.echo(table, nl=False)
        return
    with Path(place).open("a", encoding="utf-8", errors="replace", newline="\n") as file:
        file.write(table)


# -- JUnit ----------------------------------------------------------------------------------------------------


def junit(passages: Sequence[Passage]) -> bytes:
    """Return the check as JUnit XML: one test per file, failed if it does not pass, an error if it could not run."""
    return _test_reports.junit("calib gate", [_case(each) for each in passages])


def _case(passage: Passage) -> _test_reports.Case:
    kind = "" if passage.passed else "error" if passage.check is None or passage.undecided else "failure"
    return _test_reports.Case(passage.name, passage.seconds, passage.text, kind, passage.word, passage.remarks)
