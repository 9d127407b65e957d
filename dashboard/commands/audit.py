"""`calib audit`: every calibration error of a file's predictions, with its uncertainty."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dashboard.commands import _help_sections, _outputs, _shared_options
from dashboard.commands._failures import careful
from dashboard.commands._shared_options import ReadingOptions

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

    from calib_core import Predictions, Recipe
    from calib_core.inference import EstimateOrReason, PrimaryLine
    from dashboard.commands._opened_models import Opened
    from dashboard.session import Scene

_NOTHING_FITTED = "No calibrator is fitted, so --folds only means that all rows are judged."
NOTIONS = ("confidence", "top-label", "class-wise")
_MEASURES = ("mean-predicted", "observed", "ratio", "intercept", "slope", "auroc")
"""Measures of the risk that are printed without ``--details``."""


@click.command("audit", cls=_help_sections.Sectioned)
@click.argument("file", type=_shared_options.FILE)
@_shared_options.member(
    "REDUCTIONS",
    "--notion",
    "notions",
    multiple=True,
    help="Notion of calibration (repeatable): which probability is compared with what happens. By default "
    f"{', '.join(NOTIONS)}; for two classes also event. Without --details, only the event is printed then.",
)
@_shared_options.member(
    "ESTIMATORS",
    "--estimator",
    "keys",
    multiple=True,
    help="Formula for the error or score (repeatable). By default accuracy, log loss, Brier score and the expected "
    "calibration error (ECE); --details prints all errors that are computed in bins.",
)
@click.option("--slow", is_flag=True, help="Include slow estimators, which take minutes for thousands of rows.")
@click.option(
    "--unbinned", is_flag=True, help="Also print bounds on the error that need no bins, with their assumptions."
)
@_shared_options.tolerance
@_shared_options.ratio("--ratio")
@_shared_options.level
@_shared_options.bins
@_shared_options.counting
@_shared_options.calibrators
@_shared_options.judge
@_shared_options.division
@_shared_options.rows
@_shared_options.where
@_shared_options.reading
@_shared_options.models_in
@_shared_options.details
@_shared_options.form(json=_shared_options.RECORD, csv=_shared_options.TABLE)
@careful
def command(
    file: Path,
    notions: tuple[str, ...],
    keys: tuple[str, ...],
    slow: bool,
    unbinned: bool,
    tolerance: float,
    ratio: float,
    level: float,
    bins: int | None,
    points: int | None,
    binning: str,
    counting: str,
    calibrators: tuple[str, ...],
    judge: str,
    share: float | None,
    folds: int | None,
    seed: int,
    rows: str,
    where: str,
    read: ReadingOptions,
    models_in: str | None,
    details: bool,
    form: str,
) -> None:
    """Measure calibration errors, with intervals and verdicts.

    The first line names the rows that are judged. Then comes the verdict: whether the calibration error, the average
    gap between predicted probability and observed frequency, is within the tolerance. Which kind of error this is about
    is chosen without looking at the outcomes. A table of the main errors follows, with intervals. To print all errors,
    with raw values and p-values, add --details.

    The first example judges the predictions of a file, the second one only one error, in 10 bins. The next two also
    judge the model after recalibration; --folds is for files with few rows. The fifth names the columns of the file,
    and the sixth judges each model that a column names.

    \b
    Examples:
      calib audit predictions.csv
      calib audit predictions.npz --notion top-label --estimator ece --bins 10
      calib audit predictions.parquet --calibrator temperature --calibrator top-label-hb
      calib audit few-rows.csv --calibrator temperature --folds 5
      calib audit answers.jsonl --read confidence=conf --read correct=ok --json
      calib audit answers.jsonl --models-in model
      calib audit risks.csv --details
    """
    _shared_options.check_division(judge, share, folds, rows)
    if rows != "auto" and calibrators:
        raise click.UsageError("--rows does not go with --calibrator: models are judged on the test rows.")

    from calib_core import CALIBRATORS
    from calib_core.inference import estimate_lines
    from dashboard.commands import _opened_models

    opened = _opened_models.opened_models(file, models_in, read, where)
    first = next(iter(opened.values()))
    if form != "json":
        first.warn()
    scheme = _shared_options.scheme_of(binning, bins, points)
    recipes = [_shared_options.recipe_of(CALIBRATORS, key) for key in calibrators]
    scene = _opened_models.scene(
        _opened_models.divided(opened, judge, share, folds, seed), recipes, rows, counting=counting
    )
    models, built = scene.rows_judged, None if scheme is None else scheme.build()
    which, note = (
        _opened_models.judged_rows(scene, rows, fitted=bool(recipes)),
        _note(scene, first, recipes, folds, rows),
    )
    questions = _questions(models, notions or _asked_of(models), keys, slow, bool(notions))
    lines = estimate_lines(_answers(models, questions, built, level, bool(keys) or slow), tolerance, level)
    found = _Audit(first, scene, which, note, lines, tolerance, ratio, level, built, unbinned)
    shown = lines if details or slow else _main_lines(lines, bool(notions), bool(keys))
    options = {
        "tolerance": tolerance,
        "ratio": ratio,
        "binning": _shared_options.binning_record(scheme),
        "share": share or _shared_options.SHARE,
        "seed": seed,
        "rows": rows,
        "judged": which,
        "counting": counting,
        **({} if folds is None else {"folds": folds}),
        **({"note": note} if note else {}),
    }
    _outputs.answer(
        form,
        text=lambda: _text(found, shown, details),
        reading=lambda: _reading(found, shown) if details else (),
        details=details,
        frame=lines.drop(columns="mark"),
        record=lambda: _record(found, options),
    )


@dataclass(frozen=True, eq=False)
class _Audit:
    """Result of an audit: the lines of the table, and for each model its primary measure with details."""

    opened: Opened
    scene: Scene
    which: str
    note: str
    lines: pd.DataFrame
    tolerance: float
    ratio: float
    level: float
    bins: Any
    unbinned: bool

    @property
    def models(self) -> dict[str, Predictions]:
        """Return the rows behind every line, by model."""
        return self.scene.rows_judged

    @property
    def coverage(self) -> dict[str, float]:
        """Return the share of the rows that each model answers, by name."""
        return {name: self.scene.get(rows).coverage for name, rows in self.scene.predictions().items()}

    @cached_property
    def deciding(self) -> dict[str, PrimaryLine]:
        """Return the primary measure of each model, by name."""
        from calib_core.inference import primaries

        return primaries(self.models, self.tolerance, self.level, self.bins, self.ratio)

    @cached_property
    def verdicts(self) -> pd.DataFrame:
        """Return the verdicts on these lines."""
        from calib_core.inference import verdicts

        return verdicts(self.deciding, self.tolerance, self.level, self.ratio)

    @cached_property
    def others(self) -> dict[str, tuple[str, ...]]:
        """Return, by model, sentences on notions with an error although the primary measure shows none."""
        from calib_core.inference import other_errors_of

        found = other_errors_of(self.deciding, self.tolerance, self.level, self.ratio).groupby("model")["sentence"]
        return {str(name): tuple(sentences) for name, sentences in found}

    @cached_property
    def few_bins(self) -> dict[str, str]:
        """Return, by recalibrated model, a sentence on scores that fill only a few bins, with the error in others."""
        from dashboard.exhibits import line_words

        return line_words.few_bins(self.scene, self.deciding)

    @cached_property
    def large(self) -> dict[str, pd.DataFrame]:
        """Return every measure of the event's risk by model, as on the page, if there is an event."""
        from calib_core import NotAnswerable, risk
        from calib_core.inference import notion_looked_at

        found = {}
        for name, model in self.models.items():
            if notion_looked_at(model) != "event":
                continue
            with suppress(NotAnswerable):
                found[name] = risk.summary(model, self.level, self.bins)
        return found

    @cached_property
    def tests(self) -> dict[str, str]:
        """Return sentences on the tests for an error of all rows, by model with an event."""
        from calib_core.evaluation.advice import error_tests

        return {
            name: error_tests(self.models[name], self.tolerance, self.ratio, self.bins, self.level)
            for name in self.large
        }

    def tests_of(self, name: str, details: bool) -> str:
        """Return these sentences on a model, without ``details`` only if a test is significant; else empty."""
        from calib_core.evaluation.error_tests import ErrorTests

        rows = ErrorTests(self.models[name], "", self.tolerance, self.ratio, self.bins, self.level)
        return self.tests[name] if details or any(map(rows.shows, rows.corrected)) else ""

    @cached_property
    def places(self) -> dict[str, tuple[str, ...]]:
        """Return, by model, the largest finding, if there is one, and the number of tested places, in sentences."""
        from calib_core import NotAnswerable
        from calib_core.slices.findings import headline
        from dashboard.exhibits import findings

        opening = {}
        for name in self.models:
            scene = self.scene.focused(model=name)
            with suppress(NotAnswerable):
                table = scene.get(findings.found(scene, self.level))
                opening[name] = headline(table) if table["stands_out"].any() else headline(table)[1:]
        return opening

    @cached_property
    def _bounds(self) -> pd.DataFrame:
        from calib_core.inference import unbinned_bounds

        return unbinned_bounds(self.deciding, self.level)

    def bounds_of(self, model: str) -> list[str]:
        """Return the sentences about a model's bin-free error, if they were requested."""
        from dashboard.exhibits.tests import ASSUMED

        if not self.unbinned:
            return []
        return [*self._bounds.loc[self._bounds["model"] == model, "sentence"], ASSUMED]


def _note(scene: Scene, first: Opened, recipes: Sequence[Recipe], folds: int | None, rows: str) -> str:
    """Return a note on the division of rows; empty if rows are held out or named."""
    from calib_core.evaluation.cross_fitting import COLUMN_UNUSED
    from calib_core.text import begun

    if rows != "auto" or not scene.cross_fitted:
        return ""
    division = scene.get(scene.models.shown[0].division)
    rule = f"{begun(division.rule)}, seed {scene.sources[0].seed}. {division.note}"
    note = rule if recipes else _NOTHING_FITTED if folds is not None else ""
    unused = COLUMN_UNUSED.format(first.reading.split) if first.marked else ""
    return f"{note} {unused}".strip()


def _asked_of(models: Mapping[str, Predictions]) -> tuple[str, ...]:
    """Return the default notions: the event first for two classes."""
    from calib_core.inference import notion_looked_at

    events = any(notion_looked_at(model) == "event" for model in models.values())
    return ("event", *NOTIONS) if events else NOTIONS


def _questions(
    models: Mapping[str, Predictions], notions: tuple[str, ...], keys: tuple[str, ...], slow: bool, chosen: bool
) -> list[tuple[str | None, str]]:
    """Return pairs of notion and estimator; without choices also the scores of whole predictions, or of the claims."""
    from calib_core.estimators import takes_bins
    from calib_core.evaluation.study import asked_once, error_keys, notions_of_scores

    scores = notions_of_scores(*models.values())
    whole = [] if keys or chosen else [(notion, key) for key, notion in scores.items()]
    of = {notion: keys or [key for key in error_keys(notion) if slow or takes_bins(key)] for notion in notions}
    if not chosen and "class-wise" in of and len(of) > 1:  # one of K claims in a row comes true: it is always 1/K
        of["class-wise"] = [key for key in of["class-wise"] if key != "accuracy"]
    return asked_once(whole + [(notion, key) for notion, every in of.items() for key in every])


def _answers(
    models: Mapping[str, Predictions], questions: list[tuple[str | None, str]], bins: Any, level: float, slow: bool
) -> list[EstimateOrReason]:
    """Return the estimates, without slow intervals unless these were requested."""
    from calib_core.inference import estimates

    with _outputs.percent("Intervals and noise floors") as tell:
        found = estimates(models, questions, bins, level, slow, tell)
    return [answer for answer in found if answer.whole or isinstance(answer.estimate, str)]


def _main_lines(lines: pd.DataFrame, of_chosen_notions: bool, by_chosen_estimators: bool) -> pd.DataFrame:
    """Return the lines that are printed without ``--details``: scores and the primary estimator, unless chosen.

    For two classes, other notions than the event say little more.
    """
    from calib_core.evaluation.study import SCORES
    from calib_core.inference.verdicts.primary_measure import ESTIMATOR

    if not of_chosen_notions and (lines["notion"] == "event").any():
        lines = lines[lines["notion"].isna() | (lines["notion"] == "event")]
    if by_chosen_estimators:
        return lines
    refused = lines["estimator"].isna() | (lines["estimator"] == "")  # a notion that does not apply to these rows
    return lines[refused | lines["estimator"].isin([*SCORES, ESTIMATOR])]


def _large_lines(found: _Audit, details: bool) -> list[str]:
    """Return calibration-in-the-large as text: a table, the meaning of its measures, and notes on missing numbers."""
    from calib_core.evaluation.study import stacked
    from calib_core.text import inside
    from dashboard.exhibits import columns as of
    from dashboard.exhibits.risk import DEFINED, DISTANCES, ENDS, MEASURES, columns_of_measures

    if not found.large:
        return []
    frame = stacked(found.large)
    frame = frame if details else frame[frame["measure"].isin(_MEASURES)].reset_index(drop=True)
    limits = found.verdicts.set_index("model")["ratio_limit"].to_dict()
    frame["most"] = frame["model"].map(limits).where(frame["measure"] == "ratio")
    frame["least"] = 1 / frame["most"].astype(float)
    columns = (
        *([of.text("model")] if len(found.large) > 1 else []),
        of.text(inside(MEASURES), "title"),
        *columns_of_measures(found.level, ("reference", "least", "most")),
        of.number("calibrated model", "reference"),
    )
    noted = frame[frame["note"].astype(bool)].groupby("note", sort=False)["title"].unique()
    missing = (f"{', '.join(titles)}: {note}." for note, titles in noted.items())
    meanings = [text for measure, text in DEFINED.items() if measure in set(frame["measure"])]
    more = [DISTANCES, ENDS] if details else []
    several = len(found.large) > 1
    tests = [f"{name}: {text}" if several else text for name in found.large if (text := found.tests_of(name, details))]
    return ["", *_outputs.aligned(columns, frame), *missing, *meanings, *more, *tests]


def _floored(found: _Audit) -> list[str]:
    """Notes on rows in which a model gave the outcome a probability of 0, which its log loss nevertheless counts."""
    from calib_core.evaluation.candidates import SINGLE, right_or_wrong
    from calib_core.predictions.proper_scores import floored_note
    from calib_core.text import begun

    notes = []
    for name, model in found.models.items():
        rows = right_or_wrong(model) if model.kind in SINGLE else model
        bare = model.kind == "confidence"
        if rows.kind == "full" and (words := floored_note(rows, bare=bare)):
            notes.append(f"{name}: {words}." if len(found.models) > 1 else f"{begun(words)}.")
    return notes


def _record(found: _Audit, options: dict[str, Any]) -> dict[str, Any]:
    from calib_core.defaults import SEED

    coverage = found.coverage
    judged = {
        name: {
            "rows": model.n_rows,
            "effective_rows": model.effective_rows,
            "coverage": coverage[name],
            "primary": {
                "notion": found.deciding[name].notion,
                "reason": found.deciding[name].reason,
                "line": found.deciding[name].line.record(),
                "shown": vars(found.deciding[name].shown),
                "others": list(found.others.get(name, ())),
                "few_bins": found.few_bins.get(name),
            },
            "in_the_large": found.large[name].to_dict("records") if name in found.large else None,
            "error_tests": found.tests.get(name),
            "places": list(found.places.get(name, ())),
            "unbinned": found.bounds_of(name),
        }
        for name, model in found.models.items()
    }
    return {
        "file": found.opened.record(),
        "options": options,
        "models": judged,
        "lines": found.lines.drop(columns="mark").to_dict("records"),
        "level": found.level,
        "resamples_seed": SEED,
    }


def _text(found: _Audit, lines: pd.DataFrame, details: bool) -> list[str]:
    """Return the verdict of each model, its largest finding, its measures in the large and these lines of the table."""
    from calib_core.inference import each_alone
    from calib_core.text import percent
    from dashboard.exhibits import columns as of
    from dashboard.exhibits import line_words

    models, opened = found.models, found.opened
    judged = found.scene.get(found.scene.models.shown[0].predictions)
    head = f"{opened.file.title}: judged on {found.which}{opened.among}{judged.worth_note}{opened.of_all(judged)}"
    texts = [head + (f", {judged.n_classes} classes" if judged.n_classes else "")]
    for name in models:
        texts += ["", *([f"{name}:"] if len(models) > 1 else []), *_sentences(found, name, details)]
    texts += [*_terms(found), *_large_lines(found, details)]
    answered = lines[lines["value"].notna()]
    names = (*([of.text("model")] if len(models) > 1 else []), of.text("error or score", "title"))
    marks, rough = line_words.marks_in(answered, details)
    printed = answered.assign(mark=marks)
    if not details:
        printed = printed.assign(mark="", title=line_words.starred(printed["title"], marks))
    columns = line_words.columns(printed, "p (uncorrected)")
    columns = columns if details else tuple(each for each in columns if each.made_of[0] not in _ONLY_DETAILS)
    texts += ["", *([_BELOW] if details else []), *_outputs.aligned((*names, *columns), printed), *rough]
    texts += _meanings(found, answered, details)
    texts += [""] if details else []
    for name, coverage in found.coverage.items():
        if coverage < 1:
            texts.append(f"{name} answers {percent(coverage)} of the rows.")
    texts += filter(None, [found.scene.rows_counted, found.note])
    gaps = {name: float(large.set_index("measure")["value"]["gap"]) for name, large in found.large.items()}
    above = (line_words.gap_above(gap, lines[lines["model"] == name], "event") for name, gap in gaps.items())
    texts += next(filter(None, above), ()) if details else ()
    texts += _floored(found) if (answered["estimator"] == "log-loss").any() else []
    texts += filter(None, [each_alone(lines["p"])]) if details else ()
    texts += line_words.missing(lines)
    texts += [] if details else line_words.tolerances(answered, found.tolerance)
    return texts if details or answered["verdict"].isna().all() else [*texts, line_words.BRIEFLY]


_BELOW = "Errors, columns, marks and p are explained below this table."
_ONLY_DETAILS = ("value", "floor", "p")
"""First columns of a line that are printed with ``--details``."""


def _sentences(found: _Audit, name: str, details: bool) -> list[str]:
    """Return a model's verdict, part by part, its errors in other measures, and its largest finding."""
    parts = dict(found.deciding[name].parts)
    if all_rows := _all_rows(found, name):
        parts["advice"] = f"{parts.get('advice', '')} {all_rows}".strip()
    if not details:
        parts.pop("interval", None)
    others = " ".join((*found.others.get(name, ()), found.few_bins.get(name, ""))).strip()
    places = " ".join(found.places.get(name, ()))
    return list(filter(None, (*parts.values(), others, places, *found.bounds_of(name))))


def _terms(found: _Audit) -> list[str]:
    """Return the meanings of terms of a verdict, with the tolerances and their options; empty without a verdict."""
    from calib_core.inference.verdicts.verdict import tolerated_ratios
    from calib_core.text import exact_tolerance
    from dashboard.exhibits.line_words import term

    if found.verdicts["verdict"].isna().all():
        return []
    subsets = "Bins: ranges of the predicted probability. Slices: subgroups of the rows, by a column of the file."
    sliced = any("slices" in text for texts in found.places.values() for text in texts)
    ratio = ""
    if found.verdicts["ratio"].notna().any():
        ratio = f", and {tolerated_ratios(found.ratio)} for observed : expected events (--ratio)"
    return [
        "",
        term("calibration error", " (ECE in the table)"),
        term("tolerance", f", {exact_tolerance(found.tolerance)} (--tolerance){ratio}"),
        "p: the probability that a perfectly calibrated model shows at least as much.",
        term("interval", level=found.level),
        *([subsets] if sliced else []),
    ]


def _meanings(found: _Audit, lines: pd.DataFrame, details: bool) -> tuple[str, ...]:
    """Return what the scores, errors and notions of these lines are, unless it is below the measures of the risk."""
    from dashboard.exhibits import line_words
    from dashboard.exhibits.risk import DEFINED

    known = list(DEFINED) if found.large and details else []
    scores = line_words.score_definitions(lines[~lines["estimator"].isin(known)])
    return (*scores, *line_words.definitions(lines))


def _all_rows(found: _Audit, model: str) -> str:
    """Return how to judge more rows, if those of this model are too few and the file has more."""
    from calib_core.results.verdict_table import TOO_FEW

    judged = found.scene.get(found.scene.models.shown[0].predictions)
    words = dict(zip(found.verdicts["model"], found.verdicts["verdict"], strict=True))
    if words[model] != TOO_FEW or not found.opened.of_all(judged):
        return ""
    return f"To judge all {found.opened.whole.n_rows:,} rows of the file, add --judge all."


def _reading(found: _Audit, lines: pd.DataFrame) -> list[str]:
    """Return what the columns, verdicts and marks of these lines mean, under headings."""
    from calib_core.evaluation.study import SCORES
    from dashboard.exhibits import line_words

    answered = lines[lines["value"].notna()]
    scored = answered["estimator"].isin(list(SCORES)).any()
    rule = [line_words.WORDS] if answered["verdict"].notna().any() else []
    rule += [line_words.OF_ERROR] if found.large and rule else []
    rule += line_words.tolerances(answered, found.tolerance)
    of_scores = [line_words.OF_SCORES] if scored else []
    parts = {
        "Intervals": line_words.intervals(lines),
        "Columns": (line_words.VALUE, line_words.NOISE, line_words.CHANCE, *of_scores),
        "Verdicts": tuple(rule),
    }
    texts: list[str] = []
    for heading, part in parts.items():
        texts += ["", heading, *(f"  {text}" for text in part)] if part else []
    return texts
