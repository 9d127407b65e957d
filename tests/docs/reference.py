"""Reference pages from the registries, docstrings and commands: formula, parameters and an example of each entry.

Examples are ``python`` blocks like those of the written pages; tests/docs/build.py runs them and adds what they print.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import click

import calib_core as cc
from calib_core.readers import FILE_FORMATS
from calib_core.readers import foreign as other_tools
from calib_core.registry import Entry, Param, Registry
from calib_core.registry.citations import cited
from dashboard.cli import main
from tests.docs.api_pages import as_markdown

THREE_CLASSES = """import calib_core as cc

fit, test = cc.datasets.valk_kull(1200, random_state=0).predictions.split(0.5, random_state=0)
"""
TWO_CLASSES = """import numpy as np

rng = np.random.default_rng(0)
risk = rng.beta(2, 5, 1200)
both = cc.Predictions(np.column_stack([1 - risk, risk]), (rng.random(1200) < risk / 2).astype(int))
risk_fit, risk_test = both.split(0.5, random_state=0)
"""
VECTORS_ONLY = {"canonical-kde", "skce"}
TWO_CLASSES_ONLY = {"event", "intercept", "logistic-recalibration"}
TESTS = {
    "Is there any miscalibration?": ("spiegelhalter", "kuiper", "shown_at_all", "unbinned_tests", "noise_floor"),
    "Which class, bin or model?": ("per_class_tests", "share_test", "compare", "paired_difference", "not_worse"),
    "Correction for multiple testing": ("holm", "benjamini_hochberg", "benjamini_yekutieli"),
    "Intervals": ("interval", "clopper_pearson", "wilson", "bootstrap", "unbinned_bound"),
}


@dataclass(frozen=True)
class Page:
    """Generated page: its registry, its first lines, the code that all examples share, and the example of a key."""

    registry: Registry[object]
    title: str
    introduction: str
    setup: str
    example: Callable[[str], str]


def pages() -> dict[str, str]:
    """Return Markdown of every generated reference page, by its path among the pages."""
    return {
        "reference/index.md": _index(),
        **{f"reference/{name}.md": "\n\n".join(_registry(page)) + "\n" for name, page in REGISTRIES.items()},
        "reference/tests.md": "\n\n".join(_tests()) + "\n",
        "reference/formats.md": "\n\n".join(_formats()) + "\n",
        "reference/commands.md": "\n\n".join(_commands()) + "\n",
    }


def _index() -> str:
    lines = [f"- [{page.title}]({name}.md): {len(list(page.registry))}" for name, page in REGISTRIES.items()]
    return f"""# Reference

{chr(10).join(lines)}
- [Tests and intervals](tests.md)
- [File formats](formats.md): {len(FILE_FORMATS)}, and the layouts of {len(other_tools.__all__)} families of tools
- [Commands](commands.md): {len(main.list_commands(click.Context(main)))}
- [Every public module, class and function](../api/calib_core.html)
"""


# ---- registries --------------------------------------------------------------------------------------------


def _registry(page: Page) -> Iterator[str]:
    yield f"# {page.title}"
    yield page.introduction
    yield f"```python\n{page.setup}```"
    for key in page.registry:
        yield from _entry(page.registry[key], page.example(key))


def _entry(entry: Entry, example: str) -> Iterator[str]:
    yield f"## {entry.title} {{#{entry.key}}}"
    yield f"`{entry.key}`: {as_markdown(entry.caption)}"
    if entry.formula:
        yield f"$${entry.formula}$$"
    if entry.params:
        yield "\n".join(
            ("| parameter | default | values | meaning |", "|---|---|---|---|", *map(_parameter, entry.params))
        )
    if entry.elsewhere:
        yield f"Elsewhere: {as_markdown(entry.elsewhere)}"
    if entry.reference:
        yield f"Reference: {as_markdown(cited(entry.reference))}."
    yield f"```python\n{example}```"


def _parameter(param: Param) -> str:
    # The message for a value outside the domain describes the domain.
    values = param.domain.check(object()) or ""
    cells = (f"`{param.name}`", f"`{param.default!r}`", as_markdown(values), as_markdown(param.help))
    return f"| {' | '.join(cell.replace('|', '&#124;').replace(chr(10), ' ') for cell in cells)} |"


def _estimator(key: str) -> str:
    notion = "canonical" if key in VECTORS_ONLY else "confidence"
    return f'print(cc.estimate(test, "{notion}", "{key}"))\n'


def _notion(key: str) -> str:
    rows = "risk_test" if key in TWO_CLASSES_ONLY else "test"
    bins = ', bins="sierpinski"' if key == "canonical" else ""
    return f'print(cc.estimate({rows}, "{key}", "ece"{bins}))\n'


def _calibrator(key: str) -> str:
    before = "risk_" if key in TWO_CLASSES_ONLY else ""
    return (
        f'calibrator = cc.CALIBRATORS.make("{key}").fit_on({before}fit)\n'
        f"after = calibrator.apply({before}test)\n"
        f'losses = [cc.estimate(each, "confidence", "log-loss").value for each in ({before}test, after)]\n'
        'print("log loss of the confidence: {:.3f} before, {:.3f} after".format(*losses))\n'
    )


def _binary_calibrator(key: str) -> str:
    return (
        f'calibrator = cc.BINARY_CALIBRATORS.make("{key}").fit(fit.confidence, fit.correct)\n'
        "print(calibrator.transform([0.5, 0.7, 0.9]).round(3))\n"
    )


def _binning(key: str) -> str:
    notion = "confidence" if cc.BINNINGS[key].flags.of == "interval" else "canonical"
    return f'print(cc.estimate(test, "{notion}", "ece", bins="{key}"))\n'


REGISTRIES = {
    "notions": Page(
        cc.REDUCTIONS,
        "Notions of calibration",
        "A notion reduces predictions to binary claims. [Notions](../explanation/notions.md) explains which to use.",
        THREE_CLASSES + TWO_CLASSES,
        _notion,
    ),
    "estimators": Page(
        cc.ESTIMATORS,
        "Estimators",
        "An estimator turns claims into a number: a calibration error or a score. The value is the raw formula; "
        "`.point` and `.interval()` are corrected for noise. [Why ECE misleads](../explanation/why-ece-misleads.md).",
        THREE_CLASSES,
        _estimator,
    ),
    "calibrators": Page(
        cc.CALIBRATORS,
        "Calibrators",
        "A calibrator is fitted on calibration rows and changes predictions. Each example prints a loss on test rows, "
        "and it rises if the calibrator is wrong for them. [Choose a calibrator](../how-to/choose-a-calibrator.md).",
        THREE_CLASSES + TWO_CLASSES,
        _calibrator,
    ),
    "binary-calibrators": Page(
        cc.BINARY_CALIBRATORS,
        "Calibrators of scores",
        "These map one score to one probability. Wrappers such as `top-label` apply them to more classes.",
        THREE_CLASSES,
        _binary_calibrator,
    ),
    "binnings": Page(
        cc.BINNINGS,
        "Binnings",
        "A binning groups claims by their scores, never by their outcomes. `bins=` takes a number, a key or a recipe.",
        THREE_CLASSES,
        _binning,
    ),
}


# ---- functions outside registries --------------------------------------------------------------------------


def _tests() -> Iterator[str]:
    yield "# Tests and intervals"
    yield "They are in [`cc.inference`](../api/calib_core/inference.html). See [verdicts](../explanation/verdicts.md)."
    for title, names in TESTS.items():
        yield f"## {title}"
        for name in names:
            function = getattr(cc.inference, name)
            yield f"### {name} {{#{name}}}"
            yield f"```text\n{name}{_signature(function)}\n```"
            yield as_markdown(inspect.getdoc(function) or "")


def _signature(function: Callable[..., object]) -> str:
    return re.sub(r"[\"']", "", str(inspect.signature(function)))


def _formats() -> Iterator[str]:
    yield "# File formats"
    yield "[Read files](../how-to/read-files.md) explains the layouts."
    endings = {each.title: ", ".join(f"`.{ending}`" for ending in each.endings) for each in FILE_FORMATS.values()}
    rows = [f"| {title} | {names} |" for title, names in endings.items()]
    yield "\n".join(("| format | endings |", "|---|---|", *rows))
    yield "## Files of other tools"
    for name in other_tools.__all__:
        module = getattr(other_tools, name, None)
        if inspect.ismodule(module) and module.__doc__:
            yield f"- {as_markdown(module.__doc__.partition(chr(10) * 2)[0])}"


def _commands() -> Iterator[str]:
    yield "# Commands"
    context = click.Context(main, info_name="calib")
    for name in main.list_commands(context):
        command = main.get_command(context, name)
        assert command is not None, name
        yield f"## calib {name} {{#{name}}}"
        help_text = command.get_help(click.Context(command, info_name=name, parent=context, terminal_width=100))
        yield f"```text\n{help_text}\n```"
