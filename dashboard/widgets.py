"""Widgets bound to the selection, and controls generated from declared parameters."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, Protocol

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from calib_core import CALIBRATORS, InputError, NotAnswerable, Recipe, RegistryError
from calib_core.registry.registry import (
    FAMILIES,
    Choice,
    ClassIndex,
    Flag,
    Key,
    Members,
    Numbers,
    Param,
    Part,
    Range,
    Shares,
    Text,
    Weights,
)
from calib_core.text import begun
from dashboard import session
from dashboard.selection import Selection
from dashboard.theme import markdown_plain


class Titled(Protocol):
    """Protocol of objects with a title."""

    @property
    def title(self) -> str: ...


_SELECTION = "calib.selection"
_PROBLEMS = "calib.link-problems"
_LEFT_OUT = "calib.left-out"
_UNASKED = "calib.unasked"
"""Calibrators that the page ticked by default."""
_UNSET = object()
FIRST_VISIT = {"view": "start"}
"""Choices of an address without query parameters."""

POINTS_ABREAST = 3
"""Number of sliders of a curve's points per row."""
SLIDER_STEPS = 300
"""A range of whole numbers longer than this gets a number field instead of a slider."""


def selection() -> Selection:
    """Return the choices of this session; on the first run, those of its link.

    A link without calibrators chooses none: the page then ticks by default.
    """
    if _SELECTION not in st.session_state:
        query = st.query_params.to_dict() or FIRST_VISIT
        st.session_state[_SELECTION], st.session_state[_PROBLEMS] = Selection.from_query(query)
        if "calibrators" not in query:
            tick_unasked(())
    choices: Selection = st.session_state[_SELECTION]
    return choices


def follow_history() -> None:
    """After Back or Forward in the browser, take the choices from the address bar again.

    Streamlit puts every address that `write_link` writes into the browser's history. After Back it runs the page with
    the old address.
    """
    from streamlit.runtime.scriptrunner import get_script_run_ctx

    context = get_script_run_ctx(suppress_warning=True)
    if getattr(context, "is_history_navigation", False):
        st.session_state.pop(_SELECTION, None)


def link_problems() -> tuple[str, ...]:
    """Return the unusable parts of the link, once per session."""
    problems: tuple[str, ...] = st.session_state.pop(_PROBLEMS, ())
    return problems


def left_out() -> tuple[str, ...]:
    """Return one sentence for each ticked calibrator that does not apply to the current rows, once per session.

    Calibrators ticked by default are not mentioned, because the user did not choose them.
    """
    choices = selection()
    ticked = () if unasked() else choices.calibrators
    asked_for = [recipe for recipe in ticked if recipe not in Selection().calibrators]
    try:
        fit = session.parts(choices.source).fit if asked_for else None
    except InputError:
        return ()
    known = ("", None) if fit is None else (fit.kind, fit.n_classes)
    why = {recipe.title: CALIBRATORS[recipe.key].flags.unfit(*known) for recipe in asked_for}
    found = tuple(f"{title} is not used: {reason}." for title, reason in why.items() if reason)
    before, st.session_state[_LEFT_OUT] = st.session_state.get(_LEFT_OUT, ()), found
    return tuple(sentence for sentence in found if sentence not in before)


def change(**changes: Any) -> None:
    """Change choices; the widgets bound to them follow."""
    choose(selection().replace(**changes))


def choose(choices: Selection) -> None:
    """Replace all choices by these."""
    st.session_state[_SELECTION] = choices


def tick_unasked(calibrators: tuple[Recipe, ...]) -> None:
    """Tick these calibrators in place of all others, by default and not by a user's choice."""
    change(calibrators=calibrators)
    st.session_state[_UNASKED] = calibrators


def keep_ticked() -> None:
    """Treat the ticked calibrators as chosen: the page's default does not replace them."""
    st.session_state.pop(_UNASKED, None)


def unasked() -> bool:
    """Return True if the ticked calibrators are the page's default: no user, link or stop of the tour chose them."""
    return bool(st.session_state.get(_UNASKED) == selection().calibrators)


def change_exhibit(recipe: Recipe) -> None:
    """Change the options of an exhibit."""
    st.session_state[_SELECTION] = selection().with_exhibit(recipe)


def link_query(choices: Selection) -> dict[str, str]:
    """Return the choices as query parameters; an address without any would open the first visit.

    Calibrators are left out if nobody chose any: whoever opens the link has the page's default.
    """
    query = choices.to_query()
    if not choices.calibrators and unasked():
        del query["calibrators"]
    return query or {"view": choices.view}


def write_link() -> None:
    """Put the choices into the address bar."""
    query = link_query(selection())
    if st.query_params.to_dict() != query:
        st.query_params.from_dict(query)


def bound(name: str, **also: Any) -> dict[str, Any]:
    """Return the keyword arguments that bind a widget to the choice called name; ``also`` are changed along with it.

    >>> sorted(bound("bins"))  # doctest: +SKIP
    ['key', 'on_change']
    """

    def chosen(value: Any) -> None:
        if value is not None:
            change(**{name: value}, **also)

    return tied(f"choice.{name}", selection().value(name), chosen)


def tied(key: str, value: Any, chosen: Callable[[Any], None]) -> dict[str, Any]:
    """Return the keyword arguments for a widget that shows ``value`` and reports a new value.

    The given value prevails. A widget that was not drawn for a while, or that changed by a click elsewhere, is set to
    it before it is drawn.
    """
    if _FOLDED.get() or st.session_state.get(key, _UNSET) != value:
        st.session_state[key] = value
    return {"key": key, "on_change": lambda: chosen(st.session_state[key])}


@contextmanager
def popover(place: Any, label: str, **look: Any) -> Iterator[None]:
    """Draw a popover whose widgets show their values whenever it is opened.

    The browser creates the content of a popover when it is opened, from the last run only. A value set in an earlier
    run is lost and the widget would show its minimum, so every run sets it.
    """
    inside = _FOLDED.set(True)
    try:
        with place.popover(label, **look):
            yield
    finally:
        _FOLDED.reset(inside)


_FOLDED: ContextVar[bool] = ContextVar("folded", default=False)
_FOCUS: ContextVar[DeltaGenerator | None] = ContextVar("focus", default=None)


def reserve_for_focus(place: DeltaGenerator) -> None:
    """Reserve the place in the frame for the choice of the focused model, which the view draws once it knows them."""
    _FOCUS.set(place)


def place_of_focus() -> Any:
    """Return the place reserved in the frame; without a frame, the current place."""
    return _FOCUS.get() or st


def tied_to(options: Collection[Any], key: str, value: Any, chosen: Callable[[Any], None]) -> dict[str, Any]:
    """Like `tied`, for a widget whose options change; a value outside the options is not reported.

    When an option disappears, Streamlit reports its label as if the user had chosen it.
    """
    return tied(key, value, lambda new: chosen(new) if new in options else None)


def model_box(
    place: DeltaGenerator, models: Iterable[Titled], model: Titled, key: str, label: str = "Model", **also: Any
) -> None:
    """Draw a selection box for the focused model, by title; ``also`` are changed along with it."""
    titles = [shown.title for shown in models]
    place.selectbox(label, titles, **tied_to(titles, key, model.title, lambda title: change(model=title, **also)))


def download(label: str, name: str, make: Callable[[], str | bytes], *, key: str = "", primary: bool = False) -> None:
    """Draw a download button; the content of the file is computed when it is clicked."""
    # A click does not rerun the page: that would drop the file before the browser has fetched it.
    look: Literal["primary", "secondary"] = "primary" if primary else "secondary"
    st.download_button(label, make, file_name=name, on_click="ignore", key=f"download.{key or name}", type=look)


def table_height(lines: int) -> int:
    """Return the height in pixels of a data frame with this many lines and its header, none of them cut."""
    return 35 * (lines + 1) + 3


def sentences(make: Callable[[], Iterable[str]]) -> None:
    """Draw a caption for each sentence, or for the reason why there are none."""
    try:
        lines = tuple(make())
    except NotAnswerable as why:
        lines = (f"{begun(str(why))}.",)
    for sentence in lines:
        st.caption(markdown_plain(sentence))


def refusals(refused: Iterable[tuple[Titled, str]]) -> None:
    """Draw one line for each model that cannot be shown, with the reason."""
    for model, why in refused:
        text = f"**{markdown_plain(model.title)}** cannot be used here: {markdown_plain(why)}."
        st.warning(text, icon=":material/warning:")


def recipe_controls(
    recipe: Recipe,
    *,
    key: str,
    changed: Callable[[Recipe], None],
    class_names: tuple[str, ...] = (),
    only: Collection[str] | None = None,
    without: Mapping[str, tuple[str, ...]] | None = None,
) -> None:
    """Draw controls for the declared parameters of a recipe, or ``only`` some; ``changed`` gets the new recipe.

    ``without``: options of some of these parameters that are not offered.
    """
    registry = FAMILIES[recipe.family]
    values = dict(recipe.params)
    weights = [param.name for param in registry.entry(recipe.key).params if isinstance(param.domain, Weights)]

    def put(name: str, value: Any) -> None:
        # Weights of other members mean nothing: they are chosen anew.
        of_members = isinstance(registry.entry(recipe.key).param(name).domain, Members)
        kept = {each: old for each, old in values.items() if not (of_members and each in weights)}
        try:
            changed(registry.described(recipe.key, **{**kept, name: value}))
        except RegistryError as why:
            st.toast(markdown_plain(why))

    for param in registry.entry(recipe.key).params:
        if only is not None and param.name not in only:
            continue
        default = param.default
        lacking = (without or {}).get(param.name, ())
        if lacking and isinstance(param.domain, Choice) and values.get(param.name, default) not in lacking:
            param = replace(param, domain=param.domain.without(lacking))
        if isinstance(param.domain, Part) and default is not None:
            default = FAMILIES[param.domain.family].recipe(default)
        control = _Control(param, values.get(param.name, default), f"{key}.{param.name}", put, class_names)
        control.draw()


@dataclass(frozen=True)
class _Control:
    """Control of one parameter: its declaration, current value, key, and the function that receives a new value."""

    param: Param
    value: Any
    key: str
    put: Callable[[str, Any], None]
    class_names: tuple[str, ...]

    @property
    def label(self) -> str:
        return markdown_plain(self.param.label)

    @property
    def _help(self) -> str:
        text = self.param.help
        return markdown_plain(f"{begun(text)}.") if text else ""

    def draw(self) -> None:
        if not self.param.optional:
            self._field()
            return
        on = self.value is not None
        st.toggle(self.label, help=self._help, **tied(f"{self.key}.on", on, self._switched))
        if on:
            self._field()

    def _switched(self, on: bool) -> None:
        low = self.param.domain.low if isinstance(self.param.domain, Range) else None
        self._chosen(max(int(low or 1), 10) if on else None)

    def _chosen(self, value: Any) -> None:
        self.put(self.param.name, value)

    def _tied(self) -> dict[str, Any]:
        return tied(self.key, self.value, self._chosen)

    def _field(self) -> None:
        domain, text = self.param.domain, self._help
        if isinstance(domain, Range):
            self._number(domain, text)
        elif isinstance(domain, Choice):
            own = () if self.value in domain.options else (self.value,)
            st.selectbox(self.label, (*domain.options, *own), format_func=domain.title, help=text, **self._tied())
        elif isinstance(domain, Text):
            st.text_input(self.label, max_chars=domain.most, help=text, **self._tied())
        elif isinstance(domain, Key):
            st.selectbox(self.label, domain.options, format_func=domain.title, help=text, **self._tied())
        elif isinstance(domain, Flag):
            st.toggle(self.label, help=text, **self._tied())
        elif isinstance(domain, ClassIndex):
            names = self.class_names or (str(self.value),)
            st.selectbox(self.label, range(len(names)), format_func=lambda c: names[c], help=text, **self._tied())
        elif isinstance(domain, Members):
            keys, titles = tuple(FAMILIES[domain.family]), FAMILIES[domain.family]
            chosen = [recipe.key for recipe in self.value]
            st.multiselect(
                self.label,
                keys,
                format_func=lambda key: titles[key].title,
                max_selections=domain.most,
                help=text,
                **tied(self.key, chosen, self._members),
            )
        elif isinstance(domain, Shares):
            self._points(domain)
        elif isinstance(domain, Numbers):
            written = ", ".join(f"{v:g}" for v in self.value)
            st.text_input(self.label, help=text, **tied(self.key, written, self._read_numbers))
        else:
            self._part(domain, text)

    def _number(self, domain: Range, text: str) -> None:
        kind = int if self.param.integer else float
        kwargs: dict[str, Any] = {
            "min_value": kind(domain.low),
            "max_value": kind(domain.high),
            "step": kind(domain.step or (1 if self.param.integer else 0.01)),
            "help": text,
            **tied(self.key, kind(self.value), self._chosen),
        }
        if self.param.integer and domain.high - domain.low <= SLIDER_STEPS and not domain.log:
            st.slider(self.label, **kwargs)
        else:
            st.number_input(self.label, format=None if self.param.integer else "%g", **kwargs)

    def _points(self, domain: Shares) -> None:
        """Draw a slider for every point of a curve, and a field for the number of points."""
        shares, last = self.value, len(self.value) - 1

        def moved(i: int, share: float) -> None:
            self._chosen((*shares[:i], share / 100, *shares[i + 1 :]))

        def counted(points: int) -> None:
            places = [last * i / (points - 1) for i in range(points)]
            below = [min(int(place), last - 1) for place in places]
            between = zip(below, places, strict=True)
            curve = (shares[b] + (place - b) * (shares[b + 1] - shares[b]) for b, place in between)
            self._chosen(tuple(round(share, 3) for share in curve))

        st.caption(f"{self.label}: {self._help}")
        for first in range(0, last + 1, POINTS_ABREAST):
            places = st.columns(POINTS_ABREAST)
            for place, i in zip(places, range(first, min(first + POINTS_ABREAST, last + 1)), strict=False):
                score = f"Score {100 * i / last:.3g} %"
                value = float(round(100 * shares[i], 1))
                key = f"{self.key}.{i}.{last}"
                place.slider(score, 0.0, 100.0, step=1.0, format="%g %%", **tied(key, value, partial(moved, i)))
        st.number_input(
            "Points", domain.least, domain.most, step=1, help="How many points the curve has.",
            **tied(f"{self.key}.points", last + 1, counted),
        )  # fmt: skip

    def _members(self, keys: list[str]) -> None:
        """Put the members with these keys; those chosen before keep their parameters."""
        before = {recipe.key: recipe for recipe in self.value}
        self._chosen(tuple(before.get(key, key) for key in keys))

    def _read_numbers(self, text: str) -> None:
        try:
            self._chosen(tuple(float(part) for part in text.replace(";", ",").split(",") if part.strip()))
        except ValueError:
            st.toast(f"{self.label}: numbers separated by commas are needed, such as 0, 0.5, 1")

    def _part(self, domain: Part, text: str) -> None:
        registry = FAMILIES[domain.family]

        def other(part: str) -> None:
            self._chosen(registry.described(part))

        if len(domain.keys) > 1:
            st.selectbox(
                self.label,
                domain.keys,
                format_func=lambda part: registry[part].title,
                help=text,
                **tied(f"{self.key}.key", self.value.key, other),
            )
        recipe_controls(
            self.value, key=f"{self.key}.{self.value.key}", changed=self._chosen, class_names=self.class_names
        )
