"""Drawer of calibrators: families of cards, each of which ticks and unticks its calibrator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

import calib_core as cc
from calib_core import CALIBRATORS, NotAnswerable, Predictions, Recipe
from calib_core.calibrators import FAMILY_TITLES, Contract
from calib_core.evaluation.candidates import rarity
from calib_core.evaluation.choice import CalibratorChoice
from calib_core.evaluation.row_losses import name_of_score
from calib_core.palette import COLOURS
from calib_core.predictions.proper_scores import floored_note
from calib_core.results.verdict_table import MISCALIBRATED
from calib_core.text import begun, between, called, score, short_percent
from dashboard import frame, session, widgets
from dashboard.exhibits import EXHIBITS
from dashboard.exhibits.calibrators import first_named
from dashboard.exhibits.doubt_words import doubts_of, rules_out_advice
from dashboard.exhibits.recommendation import Recommendation
from dashboard.selection import ADVICE, MOST_CALIBRATORS, Selection, model_keys, recommended
from dashboard.session import Model, Scene, call
from dashboard.session.model_looks import mark
from dashboard.theme import label_plain, markdown_plain
from dashboard.views import card_words, next_step
from dashboard.views.exhibited import progress

_OPEN = "calib.drawer.open"
"""Families of which every card is shown."""
_SHOWN = {"scaling": 3, "binning": 2}
"""Number of cards of a family shown initially; further cards, and all other families, are one click away."""


def draw(scene: Scene, looked_at: Model | None) -> None:
    """Draw the headline and the families."""
    selection = widgets.selection()
    base = scene.get(scene.models.shown[0].base.predictions)
    fit = session.parts(selection.source).fit
    exhibit = Recommendation.suited(scene)
    with progress(scene) as watched:
        lines = _lines(watched)
        doubted = rules_out_advice(watched)
        found = next_step.chosen(exhibit, watched) if exhibit.quick(scene) and not doubted else None
        if frame.is_to_follow(found):
            st.rerun()
        why = exhibit.refused(watched) if found is None and watched.use.params and exhibit.quick(watched) else ""
        _headline(watched, recommended(base.kind, event=base.event is not None), found, doubted=doubted, why=why)
    drawn = _Drawer(scene, selection, lines, base, fit, looked_at, found)
    for key in drawn.advised:  # above all families: with two screens of cards they would be hard to find within theirs
        drawn.cards(key)
    members = {family: drawn.members(family) for family in FAMILY_TITLES}
    seen = {family for family, keys in members.items() if drawn.ticked & set(keys)} | _SHOWN.keys()
    for family, keys in members.items():
        if family in seen or _is_open(family):
            drawn.family(family, keys)
    _closed({f: keys for f, keys in members.items() if f not in seen and not _is_open(f)})


def _headline(scene: Scene, first: tuple[str, ...], found: CalibratorChoice | None, *, doubted: bool, why: str) -> None:
    """Draw the question, the original model's results, the recommendation, and a button for first calibrators.

    If a doubt about the file rules out advice, its sentence comes first and no calibrator is offered. ``why`` is the
    reason for which there is no advice for the stated use.
    """
    if doubted:
        for name, doubt in doubts_of(scene):
            st.warning(markdown_plain(f"{name}: {doubt.sentence}" if name else doubt.sentence))
    ticked = {recipe.key for recipe in widgets.selection().calibrators}
    left, right = st.columns([0.66, 0.34], vertical_alignment="center")
    name = first_named(scene)
    of, of_model = (f"{name}, ", f"{name}: ") if name else ("", "")
    left.markdown(f"#### Which calibrator helps?\n:gray[{markdown_plain(of + _as_it_is(scene))}]")
    if found is not None:
        advice, *evidence = next_step.words(found, scene)
        st.markdown(f"**{markdown_plain(of_model + advice)}**")
        with st.expander("How to read this", key="drawer.advice"):
            st.caption(markdown_plain(" ".join(filter(None, evidence))))
    if why:
        st.warning(markdown_plain(f"No calibrator is chosen for the stated use: {why}."))
    if doubted:
        return
    _use(scene)
    with right.container(horizontal=True, horizontal_alignment="right"):
        st.button(
            f"Try the usual {_NUMBERS.get(len(first), len(first))}",
            on_click=lambda: tick(*first),
            disabled=not first or set(first) <= ticked,
            key="drawer.recommended",
        )


def _use(scene: Scene) -> None:
    """Draw the controls that state what the probabilities are used for; every page follows them."""
    exhibit = Recommendation.suited(scene)
    name = begun(name_of_score(exhibit.score))
    groups = f", groups of {called(exhibit.worst_of)} protected" if exhibit.worst_of.strip() else ""
    with widgets.popover(st, label_plain(f"Chosen for: {name}{groups}"), icon=":material/target:", key="drawer.use"):
        st.caption(
            "State what you use the probabilities for (optional). Otherwise, calibrators are compared by log loss."
        )
        options = [option for option in exhibit.used if option != _GROUPS]
        widgets.recipe_controls(scene.use, key="drawer.use", changed=widgets.change_exhibit, only=options)
        columns = cc.slices.columns_of(scene.get(scene.models.shown[0].division.part("fit")))
        # A column of a link that the file does not have stays on show; the reason why it is not used is above.
        names = list(dict.fromkeys(("", *columns, exhibit.worst_of)))
        if names[1:]:
            st.selectbox(
                EXHIBITS[ADVICE].param(_GROUPS).label,
                names,
                format_func=lambda name: name or "none",
                help="Calibrators that make the predictions of a group of this column worse are not recommended.",
                **widgets.tied_to(names, f"drawer.use.{_GROUPS}", exhibit.worst_of, _protect),
            )


_GROUPS = "worst_of"


def _protect(column: str) -> None:
    params = {**dict(widgets.selection().exhibit(ADVICE).params), _GROUPS: column}
    widgets.change_exhibit(EXHIBITS.described(ADVICE, **params))


_NUMBERS = {0: "ones", 1: "one", 2: "two", 3: "three", 4: "four"}


def _as_it_is(scene: Scene) -> str:
    """Return the base model's error and log loss, in a sentence."""
    base = scene.models.shown[0].base
    parts = []
    try:
        table = scene.get(EXHIBITS.make("verdict").table(scene))
        line = next((line for line in table.to_dict("records") if line["model"] == base.title), None)
        if line is not None and line["point"] == line["point"]:
            ends = between(line["low"], line["high"], scene.tolerance).removesuffix(" %")
            parts.append(f"error {short_percent(line['point'])} ({ends})")
    except NotAnswerable:
        pass
    loss = call(cc.estimate, base.predictions, None, "log-loss")
    if not scene.refusal(loss):
        parts.append(f"log loss {score(scene.get(loss).value)}{_endless(scene.get(base.predictions))}")
    return f"original model, on {scene.judged_rows}: {', '.join(parts)}" if parts else ""


def _endless(rows: Predictions) -> str:
    """Return a note on rows whose log loss is clipped; empty if there are none."""
    note = floored_note(rows)
    return f" ({note})" if note else ""


def _lines(scene: Scene) -> Mapping[str, Mapping[Any, Any]]:
    """Return the table of gains by title; empty if no calibrator is ticked."""
    if not scene.models.recalibrated:
        return {}
    table = scene.get(EXHIBITS.make("gains").table(scene))
    return {line["calibrator"]: line for line in table.to_dict("records")}


def tick(*wanted: str | Recipe) -> None:
    """Tick calibrators in addition to the ticked ones, up to the limit, and focus the first of them.

    A calibrator given by its key is not ticked again if it is already ticked with other settings.
    """
    old = widgets.selection().calibrators
    known = {*old, *(recipe.key for recipe in old)}
    new = [each if isinstance(each, Recipe) else Recipe("CALIBRATORS", each) for each in wanted if each not in known]
    kept = (*old, *new)[:MOST_CALIBRATORS]
    looked_at = next((recipe for recipe in kept if recipe in wanted or recipe.key in wanted), None)
    widgets.change(calibrators=kept, **({} if looked_at is None else {"model": looked_at.title}))


def _untick(recipe: Recipe) -> None:
    widgets.change(calibrators=tuple(each for each in widgets.selection().calibrators if each != recipe))


def _is_open(family: str) -> bool:
    return family in st.session_state.get(_OPEN, ())


def _turn(family: str) -> None:
    opened = st.session_state.get(_OPEN, frozenset())
    st.session_state[_OPEN] = opened ^ {family}


def _closed(families: Mapping[str, tuple[str, ...]]) -> None:
    """Draw each family without a visible card as a button that opens it."""
    if not families:
        return
    with st.container(horizontal=True, gap="small", key="drawer-closed"):
        for family, keys in families.items():
            label = f"{FAMILY_TITLES[family][0]} · {len(keys)}"
            st.button(label, icon=":material/chevron_right:", on_click=_turn, args=(family,), key=f"drawer.{family}")


class _Drawer:
    """Current state of the cards: ticked calibrators, their results, and the rows."""

    def __init__(
        self,
        scene: Scene,
        selection: Selection,
        lines: Mapping[str, Mapping[Any, Any]],
        base: Predictions,
        fit: Predictions,
        looked_at: Model | None,
        found: CalibratorChoice | None,
    ) -> None:
        self.scene, self.selection, self.lines, self.rows = scene, selection, lines, fit.n_rows
        self.kind, self.classes, self.known_classes = base.kind, base.n_classes or 2, base.n_classes
        self.rarity = rarity(fit)
        self.usable = tuple(recipe for recipe in selection.calibrators if not self._why_unfit(recipe.key))
        self.ticked = {recipe.key for recipe in self.usable}
        self.first = recommended(base.kind, event=base.event is not None)
        self.doubted = rules_out_advice(scene)
        self.looked_at = looked_at
        self.best = found.recipe if found is not None and found.recalibrate else None
        self.simple = None if self.best is None or found is None else found.simple
        self.advised = {recipe.key: recipe for recipe in (self.simple, self.best) if recipe is not None}
        source = scene.models.shown[0].source
        self.models = {model.recipe: model for model in scene.models.recalibrated if model.source == source}
        self.refused = {model.recipe: why for model, why in scene.models.refused}

    def members(self, family: str) -> tuple[str, ...]:
        """Return a family's calibrators: recommended ones first, then those that suit these rows."""
        every = dict.fromkeys((*model_keys(), *(recipe.key for recipe in self.selection.calibrators)))
        keys = [key for key in every if _family(key) == family and key not in self.advised]
        return tuple(sorted(keys, key=lambda key: (key not in self.first, bool(self._why_unfit(key)))))

    def family(self, family: str, keys: tuple[str, ...]) -> None:
        """Draw a family's title and its cards: some of them, or all if it is open."""
        first = self.first if family in _SHOWN else ()
        chosen = [key for key in keys if key in {*self.ticked, *first}]
        most = max(_SHOWN.get(family, 0), len(chosen))
        others = [key for key in keys if key not in chosen]
        shown = set(keys) if _is_open(family) else {*chosen, *others[: most - len(chosen)]}
        title, what = FAMILY_TITLES[family]
        with st.container(
            horizontal=True, horizontal_alignment="distribute", vertical_alignment="center", key=f"family-{family}"
        ):
            st.markdown(f"**{title}** :gray[{what}]", width="content")
            if len(shown) < len(keys):
                label = f"{len(keys) - len(shown)} more"
                st.button(label, type="tertiary", on_click=_turn, args=(family,), key=f"more.{family}")
            elif _is_open(family):
                st.button("Fewer", type="tertiary", on_click=_turn, args=(family,), key=f"more.{family}")
        for key in keys:
            if key in shown:
                self.cards(key)

    def cards(self, key: str) -> None:
        """Draw a card for each ticked copy of a calibrator, or one to tick it; an unusable one cannot be ticked."""
        recipes = [recipe for recipe in self.usable if recipe.key == key]
        for number, recipe in enumerate(recipes):
            self._ticked(key, recipe, number)
        if not recipes or self.advised.get(key, recipes[0]) not in recipes:
            self._plan(key)

    def _plan(self, key: str) -> None:
        """Draw the card of a calibrator that is not ticked: with the recommended settings, if it is recommended."""
        why, recipe = self._why_unfit(key), self.advised.get(key, Recipe("CALIBRATORS", key))
        full = len(self.selection.calibrators) >= MOST_CALIBRATORS
        with st.container(border=True, key=f"calibrator-{key}"):
            self._head(
                recipe,
                disabled=bool(why) or full,
                help=f"At most {MOST_CALIBRATORS} calibrators are compared at once: remove one to add this one."
                if full and not why
                else None,
                **widgets.tied(f"tick.{key}", False, lambda on: tick(recipe) if on else None),
            )
            planned = card_words.plan(key, self.classes, self.rows, changed=bool(recipe.params), rarity=self.rarity)
            st.markdown(card_words.unfit(key, why) if why else planned)

    def _ticked(self, key: str, recipe: Recipe, number: int) -> None:
        model, line = self.models.get(recipe), self.lines.get(recipe.title)
        if model is not None and line is None:
            line = self.lines.get(model.title)
        is_looked_at = self.looked_at is not None and model == self.looked_at
        state = "look" if is_looked_at else "on"
        look = None if model is None else self.scene.looks[model.title]
        colour = "" if look is None else f"-colour{look % len(COLOURS)}"
        with st.container(border=True, key=f"calibrator-{state}{colour}-{key}-{number}"):
            self._head(
                recipe,
                look,
                **widgets.tied(f"ticked.{key}.{number}", True, lambda on: None if on else _untick(recipe)),
            )
            if model is None or line is None:
                why = self.refused.get(recipe) or "it could not be fitted"
                st.markdown(card_words.unfit(key, why))
                return
            if name := first_named(self.scene):
                st.caption(markdown_plain(f"Results for {name}"))
            best = recipe == self.best
            # One card states the reason: the recommended one, or without one, one of the first to try.
            reasons = is_looked_at and key in self.first and (best or self.best is None) and not self.doubted
            why = CALIBRATORS[key].flags.profile.why_first if reasons else ""
            changed, eps = bool(recipe.params), self.scene.tolerance
            st.markdown(card_words.fitted(key, line, why, best=best, changed=changed, eps=eps))
            lost = card_words.lost(key, line)
            if lost:
                st.caption(markdown_plain(lost))
            with st.container(horizontal=True, gap="small"):
                if not is_looked_at:
                    st.button(
                        "Before and after",
                        type="tertiary",
                        icon=":material/visibility:",
                        on_click=lambda: widgets.change(model=model.title),
                        key=f"look.{key}.{number}",
                    )
                if CALIBRATORS[key].params:
                    with widgets.popover(
                        st, "Settings", type="tertiary", icon=":material/tune:", key=f"settings.{key}.{number}"
                    ):
                        frame.settings_of(self.selection, self.selection.calibrators.index(recipe))

    def _head(self, recipe: Recipe, look: int | None = None, **box: Any) -> None:
        """Draw the checkbox with the calibrator's name as its only label; symbol and badge are next to it."""
        with st.container(horizontal=True, vertical_alignment="center", gap="small", key=f"head-{box['key']}"):
            st.checkbox(label_plain(recipe.title), **box)
            still = recipe == self.best and self._still_miscalibrated(recipe)
            words = "Recommended, still miscalibrated" if still else "Recommended"
            badge = f":orange-badge[:material/star: {words}]" if recipe == self.best else ""
            if recipe == self.simple:
                badge = ":gray-badge[Simpler, about as good]"
            beside = " ".join(filter(None, ("" if look is None else mark(look), badge)))
            if beside:
                st.markdown(beside, width="content")

    def _still_miscalibrated(self, recipe: Recipe) -> bool:
        line = self.lines.get(recipe.title, {})
        return line.get("verdict") == MISCALIBRATED

    def _why_unfit(self, key: str) -> str:
        flags: Contract = CALIBRATORS[key].flags
        return flags.unfit(self.kind, self.known_classes)


def _family(key: str) -> str:
    family: str = CALIBRATORS[key].flags.profile.family
    return family if key in model_keys() else "advanced"
