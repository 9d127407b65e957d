"""Options shared by several commands: files and how they are read, rows, bins, verdicts, forms of the answer.

An option means the same in all of them. It is declared here once; ``_opened_models`` turns the values into models and
rows, ``_outputs`` writes the results.
"""

from __future__ import annotations

import functools
import json
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from dashboard import extensions
from dashboard.commands import _failures, _outputs
from dashboard.commands._help_sections import Sectioned

if TYPE_CHECKING:  # heavy: a command imports them when it runs
    from calib_core import Predictions, Recipe
    from calib_core.registry.registry import Registry

Command = TypeVar("Command", bound=Callable[..., Any])
Option = Callable[[Any], Any]
"""Decorator that adds one or several options to a command."""

FILE = click.Path(path_type=Path)
OUTPUT = _outputs.Output()
SHARE = 0.5
"""Share of the rows that calibrators are fitted on, if no column marks them."""


class Share(click.FloatRange):
    """Number above 0 and at most 1 (below 1 with ``max_open``); NaN is rejected."""

    def __init__(self, *, max_open: bool = False) -> None:
        super().__init__(0, 1, min_open=True, max_open=max_open)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number; raise a usage error if it is out of range."""
        with suppress(TypeError, ValueError):
            if 1 < float(value) < 100:
                self.fail(f"{value} is above 1. For {value} %, write {float(value) / 100:g}.", param, ctx)
        found = super().convert(value, param, ctx)
        if found != found:
            self.fail(f"{value} is not in the range {self._describe_range()}.", param, ctx)
        return found


MOST_KEYS = 12
"""Number of keys up to which the help of an option lists all."""
_USUAL = {
    "ESTIMATORS": ("ece", "rmsce", "brier"),
    "CALIBRATORS": ("temperature", "isotonic-ovr", "dirichlet"),
}
"""Frequently used keys, which the help of an option names if there are more than it lists."""
_MEANINGS = {
    "REDUCTIONS": "Event: the risk of one of two classes. Confidence: the probability of the predicted class. "
    "Top-label: the same, for each predicted class separately. Class-wise: the probability of every class. "
}
"""Meaning of the usual keys, before the list of all."""


def _completions(family: str, incomplete: str) -> list[CompletionItem]:
    """Return the members of a registry whose keys begin like this, for the tab key."""
    import dashboard.exhibits  # noqa: F401  registers them
    from calib_core.registry.registry import FAMILIES

    return [CompletionItem(k, help=FAMILIES[family][k].title) for k in FAMILIES[family] if k.startswith(incomplete)]


class Member(click.Option):
    """Option for members of a registry; the help lists their keys (some of many), and the shell completes them."""

    def __init__(self, *names: Any, family: str, **attributes: Any) -> None:
        super().__init__(*names, **attributes)
        self.family = family

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return the keys that begin like this."""
        return _completions(self.family, incomplete)

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return the names and the help, with all keys, or with some of them and where to see the others."""
        from calib_core.registry.registry import FAMILIES

        record = super().get_help_record(ctx)
        registry = FAMILIES[self.family]
        if len(registry) <= MOST_KEYS:
            text = f"{_MEANINGS.get(self.family, '')}Keys: {', '.join(registry)} (calib help KEY explains one)."
            return record and (record[0], f"{record[1]}  {text}")
        usual = ", ".join(_USUAL[self.family])
        more = f"Keys: {usual}, ... (calib help lists all {len(registry)}; calib help KEY explains one)."
        return record and (record[0], f"{record[1]}  {more}")


class MemberArgument(click.Argument):
    """Argument for a member of a registry; the help of a `Listing` lists their keys and titles."""

    def __init__(self, *names: Any, family: str, **attributes: Any) -> None:
        super().__init__(*names, **attributes)
        self.family = family

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return the keys that begin like this."""
        return _completions(self.family, incomplete)


class Listing(Sectioned):
    """Command whose help ends with the values of its arguments."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write keys and titles of the members, those registered when the help is printed."""
        from calib_core.registry.registry import FAMILIES

        if self.name == "show":
            import dashboard.exhibits  # noqa: F401  registers them
        for argument in self.params:
            if isinstance(argument, MemberArgument):
                with formatter.section(argument.human_readable_name):
                    registry = FAMILIES[argument.family]
                    formatter.write_dl([(key, registry[key].title) for key in registry])


def member(family: str, *names: str, **attributes: Any) -> Option:
    """Return an option whose values are keys of a registry."""
    return click.option(*names, cls=Member, family=family, **attributes)


def several(*options: Option) -> Option:
    """Combine several options into one decorator; the help lists them in this order."""

    def add(function: Any) -> Any:
        for option in reversed(options):
            function = option(function)
        return function

    return add


def by_default(name: str) -> bool:
    """Return True if a parameter of the running command has its default value because the user did not give it."""
    context = click.get_current_context(silent=True)
    return context is not None and context.get_parameter_source(name) is ParameterSource.DEFAULT


# -- reading of files -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ReadingOptions:
    """Options on how files are read.

    Parameters
    ----------
    read : fields of Reading, as name=value.
    labels : the file of the labels; None if the predictions have them.
    keys : columns that identify rows in both files; empty if one is to be detected.
    by_place : row i is joined with row i.
    label : the column of the labels; None if the file suggests it.
    event : the class of two that is the event; None if its name suggests it.
    """

    read: tuple[str, ...] = ()
    labels: Path | None = None
    keys: tuple[str, ...] = ()
    by_place: bool = False
    label: str | None = None
    event: str | None = None

    def __bool__(self) -> bool:
        return bool(self.read or self.labels or self.label or self.event)

    @property
    def fields(self) -> dict[str, Any]:
        """Return the fields of Reading by their names."""
        own = {"label": None if self.label is None else (self.label,), "event": self.event}
        return reading_fields(self.read) | {name: value for name, value in own.items() if value is not None}

    @property
    def key(self) -> tuple[str, ...] | None:
        """Return the key in the form that ``with_labels`` takes."""
        return () if self.by_place else self.keys or None

    def array_beside(self, path: Path) -> Path | None:
        """Return the labels file if both files are arrays without names, which can be read in step at any size."""
        arrays = all(each.suffix.lower() == ".npy" for each in (path, self.labels) if each is not None)
        return self.labels if arrays and not self.keys else None


NOTHING = ReadingOptions()
"""Reading options without any change: files are read as they suggest."""

read = click.option(
    "--read",
    multiple=True,
    metavar="NAME=VALUE",
    help="Any other setting of how the file is read (repeatable). Examples: kind=logits (the scores are logits), "
    "weights=w (column w has the weights of the rows). A wrong name prints all names; calib help read-files explains "
    "them.",
)
models_in = click.option(
    "--models-in",
    metavar="COLUMN",
    help="Column that names the model, if FILE contains several models. All are judged on the rows that they have "
    "in common.",
)
key = click.option(
    "--key",
    "label_keys",
    multiple=True,
    metavar="COLUMN",
    help="Column by which rows of the two files are matched (repeatable; detected if omitted).",
)
by_place = click.option("--by-place", is_flag=True, help="Match row 1 with row 1, and so on, without a check.")
_OF_READING: Option = several(
    read,
    click.option("--label", metavar="COLUMN", help="Column with the labels, or with the outcome of the event."),
    click.option("--event", metavar="CLASS", help="Which of two classes is the event. If the column “died” contains "
                                                  "0 and 1, --event died means the same as --event 1."),
    click.option("--labels", type=FILE, metavar="FILE", help="File with the labels, if FILE has none. Rows are "
                                                             "matched by a column that both files have."),
    key,
    by_place,
)  # fmt: skip


def check_keys(keys: Sequence[str], by_place: bool) -> None:
    """Raise a usage error if both --key and --by-place are given."""
    if keys and by_place:
        raise click.UsageError("--key and --by-place exclude each other.")


def reading(function: Command) -> Command:
    """Add --read, --label, --event and the labels file to a command, which receives all of them as ``read``."""

    @functools.wraps(function)
    def command(
        *args: Any,
        read: tuple[str, ...],
        labels: Path | None,
        label_keys: tuple[str, ...],
        by_place: bool,
        label: str | None,
        event: str | None,
        **options: Any,
    ) -> Any:
        if labels is None and (label_keys or by_place):
            raise click.UsageError("--key and --by-place go with --labels: the file that the labels are in.")
        check_keys(label_keys, by_place)
        return function(*args, read=ReadingOptions(read, labels, label_keys, by_place, label, event), **options)

    added: Command = _OF_READING(command)
    return added


def named_fields(given: Mapping[str, Any]) -> frozenset[str]:
    """Return the fields of the reading that options name."""
    read, models_in = given.get("read"), given.get("models_in")
    fields = read.fields if isinstance(read, ReadingOptions) else {}
    return frozenset(fields) | ({"models"} if models_in is not None else set())


def reading_fields(read: Sequence[str]) -> dict[str, Any]:
    """Parse fields of a Reading from name=value texts; lists by commas, or by repeating the name."""
    from calib_core.readers import Reading

    given: dict[str, list[str]] = {}
    for text in read:
        name, value = named_value(text, "--read")
        given.setdefault(name, []).append(value)
    lists = {name for name, value in vars(Reading(scores=("s",), label=("y",))).items() if isinstance(value, tuple)}
    return {name: _value(name in lists, values) for name, values in given.items()}


def _value(is_list: bool, values: list[str]) -> Any:
    if is_list:
        return tuple(values) if len(values) > 1 else tuple(values[0].split(",")) if values[0] else ()
    return values[-1] or None


def named_value(text: str, where: str) -> tuple[str, str]:
    """Split name=value into name and value; raise a usage error about the option ``where`` for anything else."""
    name, equals, value = text.partition("=")
    if not equals:
        raise click.BadParameter(f"{_outputs.plain(text)!r} is not name=value.", param_hint=where)
    return name.strip(), value


# -- rows -----------------------------------------------------------------------------------------------------


def _judge(text: str) -> Option:
    """Return the option for the judged rows, with its help."""
    return click.option(
        "--judge",
        type=click.Choice(["auto", "held-out", "all"]),
        default="auto",
        show_default="all rows if there are at most 1,000, else a held-out half",
        help=text,
    )


judge = _judge(
    "Judge held-out rows, or all rows. With all, calibrators are cross-fitted: each row is used to judge only "
    "calibrators that were fitted without it."
)
judge_unfitted = _judge("Judge held-out rows (the same as calib audit), or all rows.")
"""The same for commands that fit no calibrator."""
rows = click.option(
    "--rows",
    type=click.Choice(["auto", "all", "test", "calibration"]),
    default="auto",
    show_default="test rows if a column marks them; else --judge decides",
    help="Use only these rows of the file and judge all of them. Replaces --judge.",
)


def check_codes(accept: tuple[str, ...]) -> None:
    """Raise a usage error for a code that no warning has."""
    from calib_core.inference.gate_checks import BIN_WARNINGS, GROUP_WARNING
    from calib_core.predictions.plausibility import DOUBTS
    from calib_core.readers.messages import meant
    from calib_core.readers.table_findings import RULES

    known = {*RULES, *DOUBTS, *BIN_WARNINGS, GROUP_WARNING}
    for code in accept:
        if code not in known:
            hint = meant(code, known) or f"the codes are {', '.join(sorted(known))}."
            raise click.UsageError(f"--accept: no warning has the code {code!r}; {hint.strip()}")


where = click.option(
    "--where",
    default="",
    metavar="SLICE",
    help="Judge only this slice, such as subject=law or age=40..60. Join two by &, in quotes: "
    "'subject=law&age=40..60'.",
)
division: Option = several(
    click.option(
        "--share",
        type=Share(max_open=True),
        show_default=str(SHARE),
        help="Share of rows to fit calibrators on, if the file has no column that marks them.",
    ),
    click.option("--folds", type=click.IntRange(2), help="Judge all rows by cross-fitting, with this number of folds."),
    click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of the split; another"
                                                                                      " number draws another half."),
)  # fmt: skip
calibrators = member(
    "CALIBRATORS",
    "--calibrator",
    "calibrators",
    multiple=True,
    help="Also judge the model after recalibration with this calibrator (repeatable): a key, or a key with parameters "
    'as JSON, such as \'{"key":"quadratic","params":{"prior":4}}\'.',
)
counting = click.option(
    "--counting",
    type=click.Choice(["answered", "all"]),
    default="answered",
    show_default=True,
    help="If a calibrator abstains (gives no answer in some rows): judge all models on the rows that every model "
    "answers, or on all rows.",
)


def check_rows(judge: str, rows: str) -> None:
    """Raise a usage error if both --judge and --rows are given."""
    if judge != "auto" and rows != "auto":
        raise click.UsageError("--judge does not go with --rows: both choose the rows that are judged.")


def check_division(
    judge: str, share: float | None, folds: int | None, rows: str = "auto", test: Path | None = None
) -> None:
    """Raise a usage error if options divide the rows in two ways."""
    if folds is not None and (rows != "auto" or share is not None or test is not None):
        raise click.UsageError("--folds does not go with --share, --rows or --test: every row is judged.")
    if judge != "auto" and test is not None:
        raise click.UsageError("--judge does not go with --test: the rows of that file are judged.")
    if (judge == "all" and share is not None) or (judge == "held-out" and folds is not None):
        raise click.UsageError("--judge all does not go with --share, nor --judge held-out with --folds.")


# -- bins and verdicts ----------------------------------------------------------------------------------------

level = click.option(
    "--level", type=Share(max_open=True), default=0.9, show_default=True, help="Confidence level of the intervals."
)
tolerance = click.option(
    "--tolerance",
    type=Share(),
    default=0.02,
    show_default=True,
    help="Largest calibration error that does not matter. Verdicts compare the error with it.",
)


def ratio(name: str) -> Option:
    """Return the option for the tolerance of observed to expected events, under its name in a command."""
    return click.option(
        name,
        "ratio",
        type=click.FloatRange(1, min_open=True),
        default=1.25,
        show_default=True,
        help="Two classes: tolerance for observed / expected events; 1.25 allows 0.8 to 1.25.",
    )


bins: Option = several(
    click.option("--bins", type=click.IntRange(1, 1000), help="Number of bins, equal-width unless --binning is given."),
    click.option("--points", type=click.IntRange(1), help="Rows per bin, with --binning points-per-bin."),
    member("BINNINGS", "--binning", default="auto", show_default=True,
                 help="Binning scheme: one of the keys below, or auto. Auto: 15 bins of equal width; if a calibrator "
                      "returns only a few different values, each value is a bin."),
)  # fmt: skip


def bins_for(key: str, notion: str | None, scheme: Recipe | None) -> Any:
    """Return the bins for an estimator: those chosen, or None if there are none or it does not use given bins."""
    from calib_core.estimators import takes_bins

    return scheme.build() if scheme is not None and notion is not None and takes_bins(key) else None


def scheme_of(binning: str, bins: int | None, points: int | None) -> Recipe | None:
    """Return the binning scheme of the options; None for the default binning of predictions."""
    from calib_core import BINNINGS
    from dashboard.schemes import AUTO, counted_by

    numbers = {name: value for name, value in (("bins", bins), ("points", points)) if value is not None}
    if binning == AUTO:
        if not numbers:
            return None
        binning = counted_by(next(iter(numbers)))  # an explicit number has precedence
    for name in numbers.keys() - {param.name for param in BINNINGS[binning].params}:
        raise click.UsageError(f"--{name} does not go with --binning {binning}.")
    return BINNINGS.described(binning, **numbers)


def binning_record(scheme: Recipe | None) -> Any:
    """Return the binning for the options of a record."""
    from dashboard.schemes import AUTO

    return AUTO if scheme is None else scheme.to_dict()


# -- contents of pages ----------------------------------------------------------------------------------------

of_rows: Option = several(
    reading,
    models_in,
    calibrators,
    judge,
    division,
    where,
    click.option("--test", type=FILE, help="File with the test rows; FILE then contains the calibration rows."),
    click.option("--other", "others", multiple=True,
                 help="File of another model on the same rows (repeatable)."),
    click.option("--choices", default="", metavar="QUERY",
                 help="Further settings, written as in the dashboard's URL: notion=class-wise&bin=9."),
)  # fmt: skip
"""Options for the models and rows of a page, for output that depends on neither bins nor tolerances."""
of_page: Option = several(of_rows, bins, counting, tolerance, ratio("--ratio"))
"""Options for every choice of a page."""
model = click.option("--model", help="Title of the model to show (default: the original model).")

_FLAGS = {"eps": "tolerance", "calibrators": "calibrator", "others": "other", "reading": "read", "within": "where"}


def flag(name: str) -> str:
    """Return the name of the option for a choice of the pages."""
    return f"--{_FLAGS.get(name, name).replace('_', '-')}"


def choice(name: str) -> str:
    """Return the choice of the pages that an option sets."""
    return next((choice for choice, option in _FLAGS.items() if option == name), name)


# -- members of registries ------------------------------------------------------------------------------------


def recipe_of(registry: Registry[Any], key: str, params: Sequence[str] = ()) -> Recipe:
    """Return the recipe of a registry member: a key, with parameters given as name=value, or a recipe as JSON."""
    from dashboard.selection import value_of

    if key.startswith("{"):
        if params:
            raise click.UsageError("A JSON recipe includes its parameters: leave --param out.")
        return _recipe_of_json(registry, key)
    entry, given = registry[key], {}
    for text in params:
        name, value = named_value(text, "NAME=VALUE")
        given[name] = entry.read(name, value_of(entry.param(name), value))
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
    """Extend the error for a whole-row calibrator fitted on single claims by the name of the option that works."""
    from calib_core import NotAnswerable

    try:
        yield
    except NotAnswerable as why:
        from calib_core.evaluation.candidates import SINGLE, of_confidence

        works = of_confidence(recipe) if predictions.kind in SINGLE else None
        if works is None:
            raise
        raise NotAnswerable(f"{why}. Calibrate the confidence: --calibrator {calibrator_option(works)}") from why


def calibrator_option(recipe: Recipe) -> str:
    """Return the value of --calibrator for a recipe: its key, or JSON quoted for a shell if it has parameters."""
    return shlex.quote(recipe.to_json() if recipe.params else recipe.key)


# -- output forms ---------------------------------------------------------------------------------------------


def form(**helps: str) -> Option:
    """Return the options for other forms of the answer than text, as flags; the command receives the form's name."""

    def add(function: Any) -> Any:
        @functools.wraps(function)
        def command(*args: Any, **options: Any) -> Any:
            chosen = [name for name in helps if options.pop(f"as_{name}")]
            if len(chosen) > 1:
                raise click.UsageError(f"--{chosen[0]} and --{chosen[1]} exclude each other.")
            return function(*args, form=chosen[0] if chosen else "text", **options)

        flags = (click.option(f"--{name}", f"as_{name}", is_flag=True, help=text) for name, text in helps.items())
        return several(*flags)(command)

    return add


details = click.option(
    "--details",
    is_flag=True,
    help="Also print all other numbers, what the columns mean, and how the numbers were computed.",
)

RECORD = "Print JSON with full precision, versions, file hash and findings."
TABLE = "Print the table as CSV."


# -- extension packages ---------------------------------------------------------------------------------------

_FOR_STRANGERS = "serve"
"""Command whose server loads only the installed extensions."""


class _With(click.Option):
    """Option --with, at most once per command."""


def add_with(command: click.Command) -> None:
    """Add --with to a command; parsing it loads the installed extensions and the named packages."""
    if any(isinstance(param, _With) for param in command.params):
        return
    option = _With(
        ["--with", "packages"],
        multiple=True,
        metavar="PACKAGE",
        expose_value=False,
        callback=_load,
        hidden=command.name == _FOR_STRANGERS,
        help="Load this extension package (repeatable).",
    )
    command.params.append(option)


def _load(context: click.Context, _: click.Parameter, packages: tuple[str, ...]) -> None:
    if context.resilient_parsing:
        return
    packages = (*context.find_root().params.get("packages", ()), *packages)
    if packages and context.command.name == _FOR_STRANGERS:
        _failures.fail("A server for many people loads installed extensions only. Install the package; omit --with.")
    for sentence in extensions.load_installed():
        click.echo(f"{context.command_path}: {_outputs.plain(sentence)}", err=True)
    for name in packages:
        try:
            extensions.load(name)
        except extensions.ExtensionError as why:
            _failures.fail(str(why))
