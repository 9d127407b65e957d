"""Laws of every registry: captions, parameters, recipes and back, helpful errors, plug-ins."""

import json
import pickle
import re
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import calib_core as cc
from calib_core import CALIBRATORS, Predictions, Recipe, RegistryError, evaluate
from calib_core.calibrators import Calibrator, Contract
from calib_core.registry.registry import (
    FAMILIES,
    Choice,
    ClassIndex,
    Counts,
    Distribution,
    Flag,
    Members,
    Numbers,
    Part,
    Range,
    Text,
    UnknownKey,
)

PUBLIC = ("REDUCTIONS", "BINNINGS", "BINARY_CALIBRATORS", "CALIBRATORS", "ESTIMATORS")
ENTRIES = [(family, key) for family in PUBLIC for key in FAMILIES[family]]
COMPOSED = [("CALIBRATORS", prefix + key) for prefix in CALIBRATORS.prefixes() for key in CALIBRATORS]


def test_the_promised_keys_are_there():
    promised = {
        "REDUCTIONS": {
            "confidence",
            "top-label",
            "class-wise",
            "class-specific",
            "top-k-confidence",
            "top-k-label",
            "canonical",
        },
        "BINNINGS": {
            "equal-width",
            "equal-mass",
            "points-per-bin",
            "distinct",
            "edges",
            "sierpinski",
            "grid",
            "projection",
        },
        "BINARY_CALIBRATORS": {"identity", "histogram", "isotonic"},
        "CALIBRATORS": {
            "identity",
            "confidence",
            "top-label",
            "class-wise",
            "normalised",
            "top-k-confidence",
            "top-k-label",
            "top-label-hb",
            "class-wise-hb",
            "normalised-hb",
            "isotonic-ovr",
            "temperature",
            "sierpinski",
            "grid",
            "projection",
        },
        "ESTIMATORS": {"ece", "mce", "rmsce", "log-loss", "brier", "accuracy"},
    }
    for family, keys in promised.items():
        assert keys <= set(FAMILIES[family]), family
        assert FAMILIES[family] is getattr(cc, family)


@pytest.mark.parametrize(("family", "key"), ENTRIES)
def test_an_entry_has_what_its_place_on_screen_needs(family, key):
    entry = FAMILIES[family][key]
    assert entry.title
    assert entry.title == entry.title.strip()
    assert entry.caption.endswith(".")
    assert entry.caption[0].isupper()
    assert "\n" not in entry.caption
    assert 20 < len(entry.caption) < 200
    for param in entry.params:
        assert param.help, f"{param.name} has no help"
        assert param.name.isidentifier()
        if not (param.default is None and param.optional):
            param.check(param.default)
    names = [p.name for p in entry.params]
    assert len(set(names)) == len(names)
    made = entry.make()
    for param in entry.params:
        value = entry.value(made, param)
        assert value == param.default or type(value) is type(param.default)


def number(domain, integer):
    if integer:
        return st.integers(int(domain.low), int(domain.high))
    return st.floats(domain.low, domain.high, allow_nan=False)


def values_of(param):
    domain = param.domain
    if isinstance(domain, Range):
        drawn = number(domain, param.integer)
    elif isinstance(domain, Choice):
        drawn = st.sampled_from(domain.options)
    elif isinstance(domain, Flag):
        drawn = st.booleans()
    elif isinstance(domain, ClassIndex):
        drawn = st.integers(0, 999)
    elif isinstance(domain, Text):
        drawn = st.text(max_size=domain.most)
    elif isinstance(domain, Counts):
        drawn = st.lists(st.integers(2, 99), max_size=4).map(tuple)
    elif isinstance(domain, Distribution):
        counts = st.lists(st.integers(0, 9), max_size=4).filter(lambda v: any(v) or not v)
        drawn = counts.map(lambda v: tuple(each / sum(v) for each in v))
    elif isinstance(domain, Numbers):
        drawn = st.lists(st.floats(0, 1), min_size=2, max_size=6, unique=True).map(lambda v: tuple(sorted(v)))
    elif isinstance(domain, Members):
        keys = st.sampled_from(("temperature", "matrix", "identity"))
        drawn = st.lists(keys.flatmap(lambda key: members(domain.family, key)), max_size=3).map(tuple)
    else:
        assert isinstance(domain, Part)
        drawn = st.sampled_from(domain.keys).flatmap(lambda key: members(domain.family, key))
    return st.none() | drawn if param.optional else drawn


def params_of(family, key):
    optional = {p.name: values_of(p) for p in FAMILIES[family].entry(key).params}
    return st.fixed_dictionaries({}, optional=optional)


def members(family, key):
    return params_of(family, key).map(lambda params: FAMILIES[family].make(key, **params))


@pytest.mark.parametrize(("family", "key"), ENTRIES + COMPOSED)
def test_a_recipe_survives_json_and_makes_the_same_member(family, key):
    registry = FAMILIES[family]

    @settings(max_examples=10)
    @given(params=params_of(family, key))
    def law(params):
        recipe = registry.described(key, **params)
        assert recipe.key == key
        back = Recipe.from_dict(family, json.loads(recipe.to_json()))
        assert back == recipe
        assert hash(back) == hash(recipe)
        assert len({recipe, back}) == 1
        member = recipe.build()
        canonical = registry.recipe(member)
        assert registry.recipe(canonical.build()) == canonical
        assert registry.recipe(canonical) is canonical
        assert registry.recipe(eval(recipe.python(), {"cc": cc})) == canonical  # noqa: S307  our own text
        assert recipe.title

    law()


@pytest.mark.parametrize(("family", "key"), ENTRIES)
def test_the_default_member_needs_no_parameters_in_its_recipe(family, key):
    registry = FAMILIES[family]
    assert registry.described(key) == Recipe(family, key)
    assert registry.recipe(key) == Recipe(family, key)
    assert json.loads(registry.described(key).to_json()) == {"key": key}
    assert Recipe.from_dict(family, key) == Recipe(family, key)
    assert registry.recipe(registry.make(key)).build() is not None


@pytest.mark.parametrize("family", PUBLIC)
def test_an_unknown_key_names_near_matches_and_the_expression_that_lists_all_keys(family):
    registry = FAMILIES[family]
    key = next(iter(registry))
    wrong = key[:-1] + "q"
    with pytest.raises(UnknownKey) as why:
        registry.make(wrong)
    assert why.value.near[0] == key
    assert len(why.value.near) <= 2
    assert set(why.value.near) <= set(registry)
    assert all(text in str(why.value) for text in (repr(wrong), repr(key)))
    expression = re.search(r"list\(.+\)", str(why.value))[0]
    assert eval(expression, {"cc": cc}) == list(registry)  # noqa: S307  our own text
    with pytest.raises(UnknownKey) as why:
        registry.make("0" * 200)
    assert why.value.near == ()
    assert len(str(why.value)) < 200
    assert str(pickle.loads(pickle.dumps(why.value))) == str(why.value)  # noqa: S301  our own object
    assert wrong not in registry
    assert key in registry


@pytest.mark.parametrize(("family", "key"), ENTRIES)
def test_unknown_parameters_and_values_outside_the_domain_are_refused(family, key):
    registry = FAMILIES[family]
    known = ", ".join(p.name for p in registry[key].params) or "none"
    for make in (registry.make, registry.described):
        with pytest.raises(RegistryError) as why:
            make(key, nonsense=1)
        assert str(why.value) == f"{key!r} has no parameter 'nonsense'; its parameters: {known}"
    for param in registry[key].params:
        text = isinstance(param.domain, Text)
        for wrong in (float("nan"), "nonsense" * (100 if text else 1), object(), float("inf"), -1e12, [1]):
            with pytest.raises(RegistryError):
                registry.make(key, **{param.name: wrong})


def test_messages_about_values_say_what_is_allowed():
    for make, message in (
        (lambda: cc.BINNINGS.make("equal-width", bins=0), "bins is 0; it must be a number from 1 to 1000"),
        (lambda: cc.BINNINGS.make("equal-width", bins=2.5), "bins is 2.5; it must be a whole number"),
        (lambda: cc.BINNINGS.make("equal-width", bins=True), "bins is True; it must be a number from 1 to 1000"),
        (lambda: cc.ESTIMATORS.make("binned", order=3), "order is 3; it must be one of 1, 2, 'max'"),
        (
            lambda: cc.BINNINGS.make("edges", values=(0, 0.5, 0.5)),
            "values is (0, 0.5, 0.5); it must be an ascending tuple of at least two different numbers",
        ),
        (lambda: CALIBRATORS.make("top-label", small="drop"), "small is 'drop'; it must be one of 'pool', 'leave'"),
        (
            lambda: Recipe.from_dict("ESTIMATORS", {"params": {}}),
            "a recipe of ESTIMATORS needs a key, but is {'params': {}}",
        ),
        (lambda: Recipe.from_dict("ESTIMATORS", {"key": "ece", "params": 3}), "params of 'ece' must be an object"),
    ):
        with pytest.raises(RegistryError) as why:
            make()
        assert str(why.value) == message


@pytest.mark.parametrize(
    "data",
    [None, 3, [], {}, {"key": 3}, {"key": "ece", "params": {"binning": {"key": "nope"}}}, {"key": "ece", "params": []}],
)
def test_recipes_from_strangers_are_refused_with_a_registry_error(data):
    with pytest.raises(RegistryError):
        Recipe.from_dict("ESTIMATORS", data)


@st.composite
def json_values(draw):
    return draw(
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
            max_leaves=6,
        )
    )


@settings(max_examples=60)
@given(params=st.dictionaries(st.sampled_from(("binning", "order", "bins", "x")), json_values(), max_size=3))
def test_any_json_is_a_recipe_or_a_registry_error(params):
    try:
        Recipe.from_dict("ESTIMATORS", {"key": "ece", "params": params})
        Recipe.from_dict("BINNINGS", {"key": "edges", "params": params})
    except RegistryError:
        return


def test_a_plug_in_appears_everywhere_with_its_parameters_and_leaves_again():
    @dataclass(eq=False, repr=False)
    class Shrink(Calibrator):
        """Moves every probability towards uniform. Not a serious method."""

        strength: Annotated[float, Range(0, 1), "how far"] = 0.5

        def _fit(self, predictions, progress):
            self.n_rows_ = predictions.n_rows

        def _apply(self, predictions, progress):
            k = predictions.n_classes
            shrunk = (1 - self.strength) * predictions.probs + self.strength / k
            return Predictions(shrunk, predictions.labels, class_names=predictions.class_names)

    before = list(CALIBRATORS)
    flags = Contract("full", keeps_argmax=True, sums_to_one=True)
    CALIBRATORS.register("shrink", "Shrinkage", flags=flags)(Shrink)
    try:
        assert "shrink" in CALIBRATORS
        assert "ts+shrink" in CALIBRATORS
        assert list(CALIBRATORS) == [*before, "shrink"]
        entry = CALIBRATORS["shrink"]
        assert entry.caption == "Moves every probability towards uniform."
        assert [(p.name, p.default, p.help) for p in entry.params] == [("strength", 0.5, "how far")]
        assert CALIBRATORS.recipe(Shrink(0.25)).to_json() == '{"key":"shrink","params":{"strength":0.25}}'
        with pytest.raises(RegistryError, match="'shrink' is already registered in CALIBRATORS"):
            CALIBRATORS.register("shrink", "Again")(Shrink)
        rng = np.random.default_rng(0)
        p = Predictions(rng.dirichlet(np.ones(3), 40), rng.integers(3, size=40))
        table = evaluate(*p.split(), calibrators=["shrink", "ts+shrink", Shrink(1.0)], reductions=["confidence"])
        assert table["calibrator"].unique().tolist() == ["shrink", "ts+shrink"]
        assert table["title"].unique().tolist() == [
            "Shrinkage",
            "Temperature scaling, then shrinkage",
            "Shrinkage (strength 1.0)",
        ]
        assert not table["value"].isna().any()
    finally:
        CALIBRATORS.remove("shrink")
    assert list(CALIBRATORS) == before
    assert "shrink" not in CALIBRATORS


def test_members_made_by_a_key_share_no_state():
    one, two = (CALIBRATORS.make("top-label-hb") for _ in range(2))
    assert one.binary is not two.binary
    one.binary.points_per_bin = 7
    assert two.binary.points_per_bin == CALIBRATORS.make("top-label-hb").binary.points_per_bin == 50


def test_a_class_without_a_docstring_cannot_be_registered():
    @dataclass
    class Bare:
        pass

    Bare.__doc__ = ""
    with pytest.raises(RegistryError, match="Bare has no docstring"):
        CALIBRATORS.register("bare", "Bare")(Bare)
    assert "bare" not in CALIBRATORS
