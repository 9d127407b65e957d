"""Blocks of every item of TRIPOD+AI: what the file answers, then what is left to the author, clearly marked."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import TypeAlias

import pandas as pd

import calib_core as cc
from calib_core import NotAnswerable, Recipe
from calib_core.evaluation.row_flow import LEFT_OUT
from calib_core.planning import PLANS
from calib_core.predictions.predictions import whole
from calib_core.registry.citations import bibliography
from calib_core.text import at_level, begun, called, count, inside, listed, measured_between, percent, score
from dashboard import session
from dashboard.exhibits import EXHIBITS, doubt_words, event_words
from dashboard.exhibits.decisions import at_these_costs
from dashboard.exhibits.findings import Findings
from dashboard.exhibits.hero import Hero
from dashboard.exhibits.plan_answers import data_in_use
from dashboard.exhibits.risk import InTheLargeExhibit
from dashboard.exhibits.slices import columns_of
from dashboard.report import document
from dashboard.report.document import Blank, Block, Bullets, FlowChart, FlowStep, Heading, Paragraph, TypesetTable
from dashboard.report.exhibited import blocks as exhibited
from dashboard.report.exhibited import shown
from dashboard.report.request import Request
from dashboard.report.sections import data, for_event, front_page
from dashboard.report.sections.validation import methods_text
from dashboard.report.sections.validation.tripod import ANSWERED, AUTHOR, PARTLY, SECTIONS, TITLES, Item
from dashboard.session import Scene, call

Answer: TypeAlias = Callable[[Request], Iterator[Block | None]]


def of_section(key: str) -> Answer:
    """Return the blocks of a section of the checklist, item by item."""

    def blocks(request: Request) -> Iterator[Block | None]:
        for item in SECTIONS[key]:
            yield Heading(f"{item.topic} (item {item.number})")
            yield from _answered(request, item)
            if item.blank:
                yield Blank(item.blank, item.number)

    return blocks


def _answered(request: Request, item: Item) -> Iterator[Block | None]:
    if item.number in _ANSWERS:
        yield from _ANSWERS[item.number](request)


def why_not(request: Request) -> str:
    """Return why there can be no such report; empty if there can."""
    return "" if request.of_event else "a validation by TRIPOD+AI is about the risk of an event of two classes"


def column_of(request: Request) -> str:
    """Return the column of clusters and subgroups: the one chosen on the page Slices, else the first; empty: none."""
    chosen = str(dict(request.selection.exhibit("slices").params).get("by", ""))
    if chosen:
        return chosen
    try:
        return columns_of(request.scene)[0]
    except NotAnswerable:
        return ""


def _event(request: Request) -> str:
    return called(event_words.of_scene(request.scene))


def _title(request: Request) -> Iterator[Block]:
    yield Paragraph(
        f"Evaluation of the predicted risk of {_event(request)} in the data "
        f"“{listed(session.file_names(request.selection))}”."
    )


def _abstract(request: Request) -> Iterator[Block]:
    yield Paragraph(_results(request), lead="Results.")


def _results(request: Request) -> str:
    """Return the results in the sentences of an abstract."""
    found = for_event.large_of(request.scene)
    if found is None:
        return "The numbers of predicted and observed events cannot be compared."
    first = request.scene.focused(model=request.scene.titles[0])
    frame = first.get(InTheLargeExhibit(curve=False).first(first)[1]).measures
    known: dict[str, dict[str, float]] = frame.set_index("measure")[["value", "low", "high"]].to_dict("index")  # type: ignore[assignment]
    parts = [
        f"O:E {_with_ends(found.ratio, found.ratio_low, found.ratio_high)}",
        f"calibration intercept {_with_ends(found.intercept, found.intercept_low, found.intercept_high)}",
        f"calibration slope {_with_ends(found.slope, found.slope_low, found.slope_high)}",
        f"AUROC {_with_ends(**known['auroc'])}",
        f"Brier score {score(known['brier']['value'])}",
    ]
    weighted = first.get(first.model.predictions).weights is not None
    events, expected = for_event.in_numbers(found.events), for_event.in_numbers(found.expected)
    return (
        f"{'With their weights, of' if weighted else 'Of'} {found.rows:,.0f} rows, {events} "
        f"({percent(found.observed)}) {event_words.in_words(request.scene)[1]}; {expected} were expected. "
        f"{'; '.join(parts)} ({at_level(found.level)} intervals).{_worst_subset(first)}"
    )


def _worst_subset(scene: Scene) -> str:
    """Return the largest significant error of a subset, which a result over all rows can hide; empty without one."""
    places = Findings()
    if scene.refusal(places.table(scene)):
        return ""
    found = places.worst(scene, 1)["finding"]
    return f" Largest significant error of a subset: {inside(str(found.iloc[0]))}" if len(found) else ""


def _with_ends(value: float, low: float, high: float) -> str:
    if value != value:
        return "not defined"
    return f"{score(value)} ({measured_between(low, high, 'score')})" if low <= high else score(value)


def _source(request: Request) -> Iterator[Block]:
    for source in request.selection.sources:
        file = session.file(source.test or source.data)
        yield Paragraph(f"{file.table.name}, SHA-256 {file.digest}.", lead="File.")


def _eligible(request: Request) -> Iterator[Block]:
    where = session.parts(request.selection.source).where
    yield Paragraph(
        f"Only rows with {where} are evaluated."
        if where
        else "All rows of the file were considered; no filter was applied."
    )


def _setting(request: Request) -> Iterator[Block]:
    by = column_of(request)
    rows = request.scene.get(request.chosen.predictions)
    if by and rows.metadata is not None and by in rows.metadata:
        yield Paragraph(
            f"The column “{by}” has {count(int(rows.metadata[by].nunique()))} different values in these rows."
        )


def _prepared(request: Request) -> Iterator[Block]:
    for source in request.selection.sources:
        yield from data.found(source.data, source.reading)
        if source.test:
            yield from data.found(source.test, source.test_reading)


def _outcome(request: Request) -> Iterator[Block]:
    source = request.selection.source
    reading = session.reading(source.data, source.reading)
    column = f", by the column {called(reading.label[0])}" if reading.label else ""
    yield Paragraph(f"The event is {_event(request)}{column}.")


def _predictors(request: Request) -> Iterator[Block]:
    yield Paragraph("The file has the predictions of the model. Which predictors they were computed from is not in it.")


def _size(request: Request) -> Iterator[Block | None]:
    found = for_event.large_of(request.scene)
    if found is not None:
        events, others = for_event.in_numbers(found.events), for_event.in_numbers(found.rows - found.events)
        yield Paragraph(
            f"{events} events and {others} rows without one. The widths of the intervals under “Performance” show "
            f"the precision reached. {' '.join(for_event.few_events(found))}".rstrip()
        )
    yield None
    plans = [PLANS.make("validation")]
    frame = request.scene.get(call(cc.planning.answers, plans=plans, **data_in_use(request.scene)))
    line = frame.to_dict("records")[0]
    if line["answer"]:
        yield Paragraph(f"{line['answer']} {line['inverse']}".strip(), lead="Criteria of Riley et al. (2021).")


def _missing(request: Request) -> Iterator[Block]:
    frame = _flow(request)
    gone = frame[frame["reason"].str.startswith("no ")]
    if len(gone):
        parts = "; ".join(f"{reason}: {count(n)}" for reason, n in zip(gone["reason"], gone["rows"], strict=True))
        yield Paragraph(
            f"Rows without a prediction or an outcome are left out (complete cases): {parts}. If these rows differ "
            "from the others, the results can be biased."
        )
    else:
        yield Paragraph("Every row of the file has a prediction and an outcome.")


def _flow(request: Request) -> pd.DataFrame:
    scene = request.scene
    return scene.get(EXHIBITS.make("row-flow").table(scene))


def _clusters(request: Request) -> Iterator[Block]:
    if by := column_of(request):
        yield methods_text.sites(by)
    else:
        yield Paragraph("The file has no column of clusters, so differences between them were not examined.")


def _measured(request: Request) -> Iterator[Block]:
    yield from methods_text.measures(request)


def _updating(request: Request) -> Iterator[Block]:
    yield methods_text.updating(request)


def _predicted(request: Request) -> Iterator[Block]:
    source = request.selection.source
    scores = session.reading(source.data, source.reading).scores
    if scores:
        yield Paragraph(f"The predicted risk is read from {', '.join(map(called, scores[:3]))}.")


def _imbalance(request: Request) -> Iterator[Block]:
    yield Paragraph(
        "The evaluated rows were not sampled again by their outcome. Risks of a model that was developed on such rows "
        "are too high or too low by a factor, which O:E shows."
    )


def _fairness(request: Request) -> Iterator[Block]:
    yield Paragraph(
        "Calibration within groups of people is reported with the performance. It is one of several notions of "
        "fairness, which can contradict one another; no verdict on fairness follows from it."
    )


def _code(request: Request) -> Iterator[Block]:
    yield Paragraph("The code of this evaluation is the command in the appendix; the program and its version are named "
                    "under “Measures of performance”.")  # fmt: skip


def flow_chart(flow: pd.DataFrame, event: str) -> FlowChart:
    """Return the boxes of a flow of rows (``calls.row_flow``): rows of each step, and reasons for leaving rows out."""
    steps: list[FlowStep] = []
    for line in flow.to_dict("records"):
        rows = f"{count(line['rows'])} rows" if line["rows"] != 1 else "1 row"
        if line["step"] == LEFT_OUT:
            reasons = (*steps[-1].left_out, f"{line['reason']}: {rows}")
            steps[-1] = dataclasses.replace(steps[-1], left_out=reasons)
            continue
        lines = [rows]
        if line["events"] == line["events"]:
            events = int(line["events"])
            lines.append(f"with {event}: {count(events)}; without: {count(line['rows'] - events)}")
        steps.append(FlowStep(begun(line["step"]), tuple(lines)))
    return FlowChart(f"Flow of the rows from the file to the evaluation. Event: {event}.", tuple(steps))


def _flow_shown(request: Request) -> Iterator[Block | None]:
    yield flow_chart(_flow(request), _event(request))
    yield from exhibited(Recipe("EXHIBITS", "row-flow"), request.scene, title=None)


def _characteristics(request: Request) -> Iterator[Block | None]:
    yield from exhibited(Recipe("EXHIBITS", "characteristics"), request.scene, title=None)
    by = column_of(request)
    if by:
        recipe = EXHIBITS.described("characteristics", by=by)
        yield from exhibited(recipe, request.scene, name="characteristics-by", title=f"By {by}")


def _numbers(request: Request) -> Iterator[Block]:
    divided = session.parts(request.selection.source)
    found = for_event.large_of(request.scene)
    events = f" with {for_event.in_numbers(found.events)} events" if found is not None else ""
    rows = divided.judged if request.models.recalibrated else divided.judged.removesuffix(", cross-fitted")
    yield Paragraph(f"Performance: {rows}{events}.")
    if request.models.recalibrated:
        yield Paragraph(f"Updates: fitted on {count(divided.fit.n_rows)} rows. {divided.note}".strip())


def _performance(request: Request) -> Iterator[Block | None]:
    scene, chosen = request.scene, request.selection.exhibit
    opening = Hero().opening(scene) if "hero" in EXHIBITS else {}
    for sentence in doubt_words.sentences(scene):
        yield Paragraph(sentence, lead="Doubt.")
    verdicts = yield from shown(Recipe("EXHIBITS", "verdict"), scene, "verdicts")
    if verdicts.table is not None:
        for line in verdicts.table.frame.to_dict("records"):
            several = f"{line['model']}: " if len(verdicts.table.frame) > 1 else ""
            yield Paragraph(
                f"{several or begun(line['headline'])}{line['headline'] if several else ''}.", lead="Verdict."
            )
    for title, answer in opening.items():
        yield Paragraph(f"{title}: {answer.headline}" if len(opening) > 1 else answer.headline)
    yield from exhibited(chosen("in-the-large"), scene, title="Calibration, discrimination and overall performance")
    yield from exhibited(chosen("reliability"), scene, title="Calibration plot")
    threshold = {**dict(chosen("net-benefit").params), **at_these_costs(request.selection, scene)}
    yield from exhibited(
        EXHIBITS.described("decision-curve", **{**dict(chosen("decision-curve").params), **threshold}), scene
    )
    if threshold:
        yield from exhibited(EXHIBITS.described("net-benefit", **threshold), scene)
    else:
        yield Blank(
            "The risk above which someone would act, and why. Once it is chosen, the net benefit there follows here: "
            "calib report --threshold, or Decisions on the page Recalibrate.",
            "23a",
        )
    if column_of(request):
        yield from exhibited(chosen("slice-columns"), scene, name="subgroups", title="Subgroups")


def _between(request: Request) -> Iterator[Block | None]:
    by = column_of(request)
    if not by:
        yield Paragraph("Not examined: the file has no column of clusters.")
        return
    params = {**dict(request.selection.exhibit("slices").params), "by": by}
    for key in ("sites", "pooled-sites"):
        yield from exhibited(EXHIBITS.described(key, **params), request.scene, title=None)


def _updated(request: Request) -> Iterator[Block | None]:
    scene, chosen = request.scene, request.selection.exhibit
    yield from exhibited(chosen("update-test"), scene, title=None)
    if request.models.recalibrated:
        yield from exhibited(chosen("gains"), scene)
        maps = (session.in_sentence(model.title) for model in request.models.recalibrated)
        yield Paragraph(f"Updated models: {', '.join(maps)}. calib fit and calib export write their formulas.")


def _interpreted(request: Request) -> Iterator[Block]:
    yield Paragraph(_results(request), lead="Main results.")


def _limited(request: Request) -> Iterator[Block | None]:
    scene = request.scene
    verdicts = yield from shown(Recipe("EXHIBITS", "verdict"), scene, "verdicts")
    stars = yield from shown(request.selection.exhibit("reliability"), scene)
    yield from front_page.limits(scene, verdicts, stars)


_ANSWERS: dict[str, Answer] = {
    "1": _title,
    "2": _abstract,
    "5a": _source,
    "6a": _setting,
    "6b": _eligible,
    "7": _prepared,
    "8a": _outcome,
    "9b": _predictors,
    "10": _size,
    "11": _missing,
    "12d": _clusters,
    "12e": _measured,
    "12f": _updating,
    "12g": _predicted,
    "13": _imbalance,
    "14": _fairness,
    "18f": _code,
    "20a": _flow_shown,
    "20b": _characteristics,
    "21": _numbers,
    "23a": _performance,
    "23b": _between,
    "24": _updated,
    "25": _interpreted,
    "26": _limited,
}
"""Answers from the file, by item."""


def checklist(request: Request) -> Iterator[Block]:
    """Yield every item with the section that has it and who answers it."""
    lines = [
        (item.number, item.topic, TITLES[key], _who(item))
        for key, items in SECTIONS.items()
        if key not in request.options.left_out
        for item in items
    ]
    frame = pd.DataFrame(lines, columns=["item", "topic", "section", "answered"])
    yield Paragraph(
        "Items of TRIPOD+AI (Collins et al., 2024) for the evaluation of a model, in our words. Items 9a, 12a to 12c, "
        "15, 22, 27a and 27b are about development only. Item 2 has a checklist of its own, TRIPOD+AI for Abstracts. "
        "“From the file” means that numbers or text are given here; whether they are enough is for the author and "
        "the reviewer. The published checklist has the original words."
    )
    yield TypesetTable(
        "tripod",
        "Where each item is answered.",
        frame,
        tuple(document.text(name) for name in frame.columns),
    )


def _who(item: Item) -> str:
    if item.number not in _ANSWERS:
        return AUTHOR
    return PARTLY if item.blank else ANSWERED


def references(request: Request) -> Iterator[Block]:
    """Yield the works cited by the text on methods."""
    cited = [*methods_text.CITED, *methods_text.OF_SIZE, *methods_text.OF_UPDATES]
    rows = request.scene.get(request.chosen.predictions)
    cited += () if rows.weights is None or whole(rows.weights) else methods_text.OF_WEIGHTS
    cited += () if rows.row_groups is None else methods_text.OF_GROUPS
    cited += methods_text.OF_SITES if column_of(request) else ()
    yield Bullets(bibliography(cited))
