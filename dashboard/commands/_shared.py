"""What the commands share: files read the same way, rows divided the same way, failures told in one sentence."""

from __future__ import annotations

import functools
import json
import shlex
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click

from dashboard.commands import _extras, _outputs, _reading_options
from dashboard.commands._reading_options import ReadingOptions

if TYPE_CHECKING:  # heavy: a command imports them when it runs
    from calib_core import Predictions, Recipe
    from calib_core.evaluation.splitting import Division, Marked
    from calib_core.predictions.plausibility import Doubt
    from calib_core.readers import Checked, Finding, Reading, Table
    from calib_core.registry.registry import Registry

Command = TypeVar("Command", bound=Callable[..., Any])

COULD_NOT_RUN = 2
SHARE = 0.5
"""Share of the rows that calibrators are fitted on, where no column marks them."""
FILE = _reading_options.FILE
OUTPUT = _outputs.Output()
_NOTHING = ReadingOptions()


# -- failing --------------------------------------------------------------------------------------------------


def careful(function: Command) -> Command:
    """Failures of a command become one sentence on stderr and exit code 2; adds --debug, which shows where.

    It stands below all other decorators of a command, next to the function.
    """

    @click.option("--debug", is_flag=True, help="Show where in the program an error arose.")
    @functools.wraps(function)
    def checked(*args: Any, debug: bool, **options: Any) -> Any:
        try:
            _outputs.check(click.get_current_context())
            return function(*args, **options)
        except (click.ClickException, click.exceptions.Exit, click.Abort, BrokenPipeError):
            raise
        except Exception as why:
            trace()
            fail(sentence_of(why))

    return checked  # type: ignore[return-value]


def trace() -> None:
    """With --debug: where the error that is being told arose."""
    if click.get_current_context().params.get("debug"):
        traceback.print_exc()


def fail(sentence: str) -> NoReturn:
    """Say in one sentence why the command could not run, and end with exit code 2."""
    context = click.get_current_context(silent=True)
    click.echo(f"{context.command_path if context else 'calib'}: {_outputs.plain(sentence)}", err=True)
    raise SystemExit(COULD_NOT_RUN)


def sentence_of(why: Exception) -> str:
    """What is told of an exception."""
    from calib_core import InputError, RegistryError

    if isinstance(why, (InputError, RegistryError)):
        return str(why)
    if isinstance(why, OSError):
        return f"{why.filename or 'a file'}: {why.strerror or why}"
    if (sentence := _extras.missing(why)) is not None:
        return sentence
    text = f"{type(why).__name__}: {why}" if str(why) else type(why).__name__
    return f"this should not have happened ({text}); --debug shows where"


# -- reading --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Loaded:
    """A file that was read: where it lay, the hash of its bytes, and what it holds, read how."""

    path: Path
    digest: str
    table: Table
    reading: Reading
    predictions: Predictions
    where: str = ""
    chosen: frozenset[str] = frozenset()

    @property
    def among(self) -> str:
        """Which rows are judged, to follow their number; nothing where all are."""
        import calib_core as cc

        return f" with {cc.slices.as_slice(self.where).title}" if self.where else ""

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What the doctor found in it, problems first; and before it that one of several models is read alone."""
        from calib_core.readers import by_severity, unchosen_model

        alone = unchosen_model(self.table, self.reading, self.chosen)
        return (*([] if alone is None else [alone]), *by_severity(self.checks))

    @functools.cached_property
    def checks(self) -> tuple[Checked, ...]:
        """Everything that was looked for in the file, and what came of it."""
        from calib_core.readers import checks

        return checks(self.table, self.reading)

    @functools.cached_property
    def doubts(self) -> tuple[Doubt, ...]:
        """Reasons to doubt its labels or scores."""
        from calib_core.predictions.plausibility import doubts

        return doubts(self.predictions)

    @property
    def remarks(self) -> list[str]:
        """What stands out, what was assumed and what was left out, one line each with the option that settles it.

        Reasons to doubt labels or scores come first; findings of the same kind may add how to mend them.
        """
        return [f"{self.table.name}: doubt: {doubt.sentence}" for doubt in self.doubts] + [
            f"{self.table.name}: {finding.severity}: {finding.message} {_options(finding)}".rstrip()
            for finding in self.findings
            if finding.worth_saying(self.chosen)
        ]

    @functools.cached_property
    def marked(self) -> Marked | None:
        """Calibration and test rows where a column of the file marks them."""
        if (column := self.reading.split) is None:
            return None
        from calib_core.evaluation.splitting import Marked
        from calib_core.readers import split_rows

        return Marked(*split_rows(self.table, self.reading), column)

    def division(self, share: float, seed: int, folds: int | None, like: Division | None = None) -> Division:
        """Calibration and test rows: in folds, those a column marks, else at random, class by class, as on screen.

        Another model's rows are divided as those it is compared with.
        """
        from calib_core.calls import divide, within

        if like is not None:
            return divide(self.predictions, like=like)
        how: dict[str, Any] = {"folds": folds} if folds else {"share": share, "marked": self.marked}
        rows = divide(self.predictions, random_state=seed, **how)
        return within(rows, self.where) if self.where else rows

    def judged(self, judge: str, share: float, seed: int, folds: int | None, like: Division | None = None) -> Division:
        """The rows judged: those marked, held-out ones, or all, cross-fitted; "auto" by the rule that the page has."""
        from calib_core.defaults import JUDGED_FOLDS
        from calib_core.evaluation.splitting import usual_folds

        if folds is None and judge == "all":
            folds = JUDGED_FOLDS
        elif folds is None and judge == "auto" and self.marked is None and like is None:
            folds = usual_folds(self.predictions)
        return self.division(share, seed, folds, like)

    def judged_rows(
        self, judge: str, which: str, like: Division | None = None
    ) -> tuple[Predictions, str, Division | None]:
        """The rows that are judged where nothing is fitted, in words, and their division: as the page and the audit do.

        ``which`` rows, where they are named; else by ``judge``, with the default share and seed.
        """
        from calib_core.defaults import SEED
        from calib_core.text import count

        if which != "auto":
            rows = self.rows(which)
            text = f"{count(rows.n_rows)} rows"
            return rows, f"all {text}" if which == "all" and rows.n_rows == self.predictions.n_rows else text, None
        parts = self.judged(judge, SHARE, SEED, None, like)
        return parts.test, parts.judged.removesuffix(", cross-fitted"), parts

    def of_all(self, judged: Predictions) -> str:
        """How many rows the file has where not all are judged, and how all would be."""
        every = self.predictions.n_rows
        if judged.n_rows >= every or self.where or self.marked is not None:
            return ""
        return f" of {every:,} (--judge all judges all of them)"

    def rows(self, which: str) -> Predictions:
        """The rows to judge: "all", those marked "test" or "calibration", or "auto": marked test rows, else all."""
        if which == "all" or (which == "auto" and self.marked is None):
            return self._judged(self.predictions)
        if self.marked is None:
            from calib_core import InputError

            what = f"{self.table.name} has no column that marks calibration and test rows; leave --rows out"
            raise InputError(what)
        return self._judged(self.predictions.take(self.marked.fit if which == "calibration" else self.marked.test))

    def _judged(self, rows: Predictions) -> Predictions:
        import calib_core as cc

        return cc.slices.part(rows, self.where) if self.where else rows


@dataclass(frozen=True, eq=False)
class FileReading:
    """A file whose table was read, and how that is read as predictions."""

    path: Path
    digest: str
    table: Table
    reading: Reading
    chosen: frozenset[str]

    def of_model(self, name: str) -> FileReading:
        """The same, read for one of its models."""
        return replace(self, reading=self.reading.replace(model=name), chosen=self.chosen | {"model"})

    def loaded(self, where: str = "") -> Loaded:
        """Its predictions; InputError says what is wrong. ``where`` is the slice of its rows that is judged."""
        from calib_core import InputError
        from calib_core.readers import examine, predictions

        try:
            rows = predictions(self.table, self.reading)
        except InputError as why:
            settled = [_options(finding) for finding in examine(self.table, self.reading) if finding.change]
            raise InputError(f"{why} {' Or: '.join(settled)}" if settled else str(why)) from why
        return Loaded(self.path, self.digest, self.table, self.reading, rows, where, self.chosen)


def found(path: Path, given: ReadingOptions, **fields: Any) -> FileReading:
    """The table of a file, read as it suggests but for what is given."""
    from calib_core.readers import propose

    digest, table = _reading_options.with_digest(path, given)
    return FileReading(path, digest, table, propose(table, **given.fields, **fields), frozenset(given.fields))


def load(path: Path, given: ReadingOptions = _NOTHING, where: str = "") -> Loaded:
    """The file as it suggests being read, but for what is given; InputError says what is wrong."""
    return found(path, given).loaded(where)


class Share(click.FloatRange):
    """A number above 0 and at most 1 (below 1 with ``max_open``); what is no number, as nan, lies nowhere."""

    def __init__(self, *, max_open: bool = False) -> None:
        super().__init__(0, 1, min_open=True, max_open=max_open)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number; a usage error where it lies outside."""
        found = super().convert(value, param, ctx)
        if found != found:
            self.fail(f"{value} is not in the range {self._describe_range()}.", param, ctx)
        return found


def level_option(function: Command) -> Command:
    """The level of intervals."""
    return click.option("--level", type=Share(max_open=True), default=0.9, show_default=True,
                        help="Level of the intervals.")(function)  # fmt: skip


def tolerance_option(function: Command) -> Command:
    """The tolerance of verdicts."""
    return click.option("--tolerance", type=Share(), default=0.02, show_default=True,
                        help="The error that would not matter, for the verdicts.")(function)  # fmt: skip


def rows_option(function: Command) -> Command:
    """Which rows of a file with a split column are judged."""
    return click.option(
        "--rows",
        type=click.Choice(["auto", "all", "test", "calibration"]),
        default="auto",
        show_default="test rows where a column marks them, else all",
        help="Which rows are judged.",
    )(function)


def where_option(function: Command) -> Command:
    """Which slice of these rows."""
    return click.option("--where", default="", metavar="SLICE", help="Of these a slice alone: subject=law, age=40..60, "
                        "two joined by &.")(function)  # fmt: skip


def judge_clash(judge: str, rows: str) -> None:
    """--judge and --rows both choose the rows that are judged: a usage error where both are given."""
    if judge != "auto" and rows != "auto":
        raise click.UsageError("--judge does not go with --rows: both choose the rows that are judged.")


def split_options(function: Command) -> Command:
    """How rows are divided where no column says so."""
    share = click.option(
        "--share",
        type=click.FloatRange(0, 1, min_open=True, max_open=True),
        default=SHARE,
        show_default=True,
        help="Share of the rows calibrators are fitted on, where no column marks them.",
    )
    folds = click.option("--folds", type=click.IntRange(2), help="Judge every row instead, in so many folds, each "
                         "after maps fitted on the others.")  # fmt: skip
    seed = click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of that division.")
    return share(folds(seed(function)))


def judge_option(function: Command) -> Command:
    """Which rows are judged where no column marks them."""
    return click.option(
        "--judge",
        type=click.Choice(["auto", "held-out", "all"]),
        default="auto",
        show_default="all rows up to 1,000, half of them beyond",
        help="Judge held-out rows, or all rows, cross-fitted.",
    )(function)


def bins_options(function: Command) -> Command:
    """Which bins estimators read."""
    bins = click.option("--bins", type=click.IntRange(1, 1000), help="Number of bins; equal-width where nothing else "
                        "is said.")  # fmt: skip
    points = click.option("--points", type=click.IntRange(1), help="Rows per bin, for --binning points-per-bin.")
    binning = click.option("--binning", default="auto", show_default=True,
                           help="Where the bins lie: a key (equal-width, equal-mass, distinct, ...), or auto: one bin "
                           "a value where a calibrator's outputs are discrete, else 15 of equal width.")  # fmt: skip
    return bins(points(binning(function)))


def bins_for(key: str, notion: str | None, scheme: Recipe | None) -> Any:
    """The bins an estimator is given: those chosen, or None where none are, or it places its own or reads none."""
    from calib_core.estimators import takes_bins

    return scheme.build() if scheme is not None and notion is not None and takes_bins(key) else None


def scheme_of(binning: str, bins: int | None, points: int | None) -> Recipe | None:
    """The binning scheme of the options; None where predictions are judged as they are declared."""
    from calib_core import BINNINGS
    from dashboard.schemes import AUTO, counted_by

    numbers = {name: value for name, value in (("bins", bins), ("points", points)) if value is not None}
    if binning == AUTO:
        if not numbers:
            return None
        binning = counted_by(next(iter(numbers)))  # a number that is given wins
    for name in numbers.keys() - {param.name for param in BINNINGS[binning].params}:
        raise click.UsageError(f"--{name} does not go with --binning {binning}.")
    return BINNINGS.described(binning, **numbers)


def binning_record(scheme: Recipe | None) -> Any:
    """The bins of a record's options."""
    from dashboard.schemes import AUTO

    return AUTO if scheme is None else scheme.to_dict()


def recipe_of(registry: Registry[Any], key: str, params: Sequence[str] = ()) -> Recipe:
    """The recipe of a member of a registry: a key, with parameters given as name=value, or a recipe as JSON."""
    from dashboard.selection import value_of

    if key.startswith("{"):
        if params:
            raise click.UsageError("A recipe as JSON holds its parameters: leave --param out.")
        return _recipe_of_json(registry, key)
    entry, given = registry[key], {}
    for text in params:
        name, equals, value = text.partition("=")
        if not equals:
            raise click.BadParameter(f"{_outputs.plain(text)!r} is not name=value.", param_hint="NAME=VALUE")
        given[name.strip()] = entry.read(name.strip(), value_of(entry.param(name.strip()), value))
    return registry.described(key, **given)


def _recipe_of_json(registry: Registry[Any], text: str) -> Recipe:
    from calib_core import Recipe

    try:
        data = json.loads(text)
    except ValueError as why:
        raise click.UsageError(f"{_outputs.plain(text[:80])} is not a recipe as JSON: {why}.") from why
    return Recipe.from_dict(registry.family, data)


@contextmanager
def of_confidences(recipe: Recipe, predictions: Predictions) -> Iterator[None]:
    """Where a calibrator of whole rows is fitted on single claims: the refusal names the option that works."""
    from calib_core import NotAnswerable
    from calib_core.evaluation.candidates import SINGLE, of_confidence

    try:
        yield
    except NotAnswerable as why:
        works = of_confidence(recipe) if predictions.kind in SINGLE else None
        if works is None:
            raise
        raise NotAnswerable(f"{why}. Calibrate the confidence: --calibrator {calibrator_option(works)}") from why


def calibrator_option(recipe: Recipe) -> str:
    """What --calibrator is given for a recipe: its key, or where it has parameters itself as JSON, for a shell."""
    return shlex.quote(recipe.to_json() if recipe.params else recipe.key)


# -- telling --------------------------------------------------------------------------------------------------


def warn(loaded: Loaded) -> None:
    """What stands out in a file and what was assumed, on stderr, one line each with the option that settles it."""
    for line in loaded.remarks:
        click.echo(_outputs.plain(line), err=True)


_OWN_OPTION = ("label", "event")
"""Fields of the reading that have an option of their own name."""
_STATEMENTS = ("It is ", "The ", "Rows ", "Attempts ", "Labels ", "Predicted ")
"""How the label of a change begins that states something about the file; others say what to do."""


def _options(finding: Finding) -> str:
    """What a finding offers, as options of the command line."""
    texts = []
    for name, value in (finding.change or {}).items():
        each = [str(item) for item in value] if isinstance(value, tuple) else [str(value)]
        if name in _OWN_OPTION and len(each) == 1:
            texts.append(f"--{name} {shlex.quote(each[0])}")
            continue
        whole = [",".join(each)] if not any("," in item for item in each) or len(each) == 1 else each
        texts += [f"--read {shlex.quote(f'{name}={item}')}" for item in whole]
    if finding.code == "outcome" and not texts:
        return "If the outcome is another column, give --label COLUMN"
    label, how = finding.change_label or "", " ".join(texts)
    if texts and label.startswith(_STATEMENTS):
        # A button may state what is so; among sentences it would contradict the one before it.
        return f"If {label[0].lower()}{label[1:]}, give {how}"
    return f"{label}: {how}" if texts else ""


def file_record(loaded: Loaded) -> dict[str, Any]:
    """What identifies a file in a record: name, hash, how it was read, what was found."""
    return {
        "name": loaded.path.name,
        "sha256": loaded.digest,
        "rows": loaded.predictions.n_rows,
        "classes": loaded.predictions.n_classes,
        "kind": loaded.predictions.kind,
        "reading": loaded.reading.to_json(),
        **({} if (met := loaded.table.joined) is None else {"labels": {"name": met.labels, "key": met.key}}),
        "findings": [
            {
                "severity": f.severity,
                "code": f.code,
                "title": f.rule.title,
                "message": f.message,
                "remedy": f.rule.remedy,
                "term": f.rule.term,
            }
            for f in loaded.findings
        ],
        "doubts": [vars(doubt) for doubt in loaded.doubts],
        "checks": [{"title": each.title, "outcome": each.outcome, "why": each.why} for each in loaded.checks],
        "notes": list(loaded.predictions.notes),
        **({"where": loaded.where} if loaded.where else {}),
    }
