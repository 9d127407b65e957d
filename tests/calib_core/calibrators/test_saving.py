"""Saved calibrators: bit-equal predictions after a round trip, here and in a fresh process; messages for bad files."""

import base64
import json
import re
import subprocess
import sys

import numpy as np
import pytest
from generated import classes_for
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError

from calib_core import (
    BINARY_CALIBRATORS,
    CALIBRATORS,
    InputError,
    Logits,
    Predictions,
    load_calibrator,
)
from calib_core.calibrators import Composed, Identity
from calib_core.calibrators.saving import VERSION
from calib_core.registry.registry import Part


def cases():
    """Yield every key and ts+key, and every binary part in every wrapper that takes one."""
    for key in CALIBRATORS:
        yield key, lambda key=key: CALIBRATORS.make(key)
        yield f"ts+{key}", lambda key=key: CALIBRATORS.make(f"ts+{key}")
        names = {p.name for p in CALIBRATORS[key].params}
        if "points_per_bin" in names:
            yield f"{key}, 4 points", lambda key=key: CALIBRATORS.make(key, points_per_bin=4)
        if any(p.domain == Part("BINARY_CALIBRATORS") for p in CALIBRATORS[key].params):
            for binary in BINARY_CALIBRATORS:
                yield f"{key} of {binary}", lambda key=key, b=binary: CALIBRATORS.make(key, binary=b)


CASES = dict(cases())


def data(dtype, seed=0, n=400, k=4):
    """Return confident rows, so that even a high required accuracy can be fitted."""
    rng = np.random.default_rng(seed)
    logits = (8 * rng.standard_normal((n, k))).astype(dtype)
    # The last class is rare, so that some strata are pooled or unchanged.
    logits[:, -1] -= 18
    return logits, (rng.random(n)[:, None] > np.asarray(Logits(logits).probs()).cumsum(1)[:, :-1]).sum(1)


def said(predictions):
    """Return all recalibrated predictions as bytes."""
    if predictions.kind in ("full", "per-class"):
        return predictions.probs.tobytes(), str(predictions.probs.dtype)
    values = predictions.confidence if predictions.kind == "confidence" else predictions.top(predictions.n_ranked)[1]
    return np.ascontiguousarray(values).tobytes(), str(values.dtype)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_predictions_are_bit_equal_after_a_round_trip(case, dtype):
    fit, test = (Predictions.from_logits(*data(dtype, seed, k=classes_for(case, 4))) for seed in (0, 1))
    calibrator = CASES[case]().fit_on(fit)
    text = calibrator.to_json()
    loaded = load_calibrator(text)
    assert type(loaded) is type(calibrator)
    assert CALIBRATORS.recipe(loaded) == CALIBRATORS.recipe(calibrator)
    for rows in (test, Predictions(test.probs, test.labels)):
        try:
            want = said(calibrator.apply(rows))
        except InputError:
            continue  # a map of raw logits, given probabilities
        assert said(loaded.apply(rows)) == want
    assert loaded.to_json() == text, "nothing is lost, nothing is added"
    outside_arrays = re.sub(r'"array":"[^"]*"', "", text)  # base64 spells any word
    assert "nan" not in outside_arrays.lower() or '{"float":' in text


def test_a_fresh_process_reads_them_too(tmp_path):
    logits, labels = data(np.float32)
    np.save(tmp_path / "logits.npy", logits)
    want = {}
    keys = [*(key for key in CALIBRATORS if classes_for(key, 4) == 4), "ts+top-label-hb", "ts+scaling-binning"]
    for key in keys:
        calibrator = CALIBRATORS.make(key).fit(Logits(logits), labels)
        (tmp_path / f"{key}.json").write_text(calibrator.to_json(), encoding="utf-8")
        want[key] = said(calibrator.apply(Predictions.from_logits(logits, labels)))[0].hex()
    script = (
        "import json, sys, pathlib, numpy as np, calib_core as cc\n"
        "folder = pathlib.Path(sys.argv[1])\n"
        "rows = cc.Predictions.from_logits(np.load(folder / 'logits.npy'), np.zeros(400, int))\n"
        "for file in sorted(folder.glob('*.json')):\n"
        "    made = cc.load_calibrator(file).apply(rows)\n"
        "    full = made.kind in ('full', 'per-class')\n"
        "    values = made.probs if full else np.ascontiguousarray(made.top(made.n_ranked)[1])\n"
        "    sys.stdout.write(json.dumps([file.stem, values.tobytes().hex()]) + '\\n')\n"
    )
    ran = subprocess.run([sys.executable, "-c", script, tmp_path], capture_output=True, text=True, check=True)
    assert dict(map(json.loads, ran.stdout.splitlines())) == want


def test_a_path_a_text_and_its_bytes_are_one_source(tmp_path):
    text = CALIBRATORS.make("temperature").fit([[0.9, 0.1]] * 10, [0, 0, 0, 0, 1] * 2).to_json()
    file = tmp_path / "t.json"
    file.write_text(text, encoding="utf-8")
    for source in (text, text.encode(), "\n " + text, file, str(file)):
        assert load_calibrator(source).predict_proba([[0.9, 0.1]])[0] == pytest.approx([0.8, 0.2])
    with pytest.raises(InputError, match=r"nowhere\.json' cannot be read: No such file or directory$"):
        load_calibrator(tmp_path / "nowhere.json")


def test_confidence_only_calibrators_come_back_for_confidence_only_predictions():
    rng = np.random.default_rng(0)
    rows = Predictions.from_confidence(rng.random(60), rng.random(60) < 0.5)
    calibrator = CALIBRATORS.make("confidence", binary="beta").fit_on(rows)
    assert said(load_calibrator(calibrator.to_json()).apply(rows)) == said(calibrator.apply(rows))


def test_a_shared_map_is_written_once_and_shared_again():
    probs = np.random.default_rng(0).dirichlet(np.ones(20), 40)
    calibrator = CALIBRATORS.make("top-label-hb").fit(probs, probs.argmax(1))
    assert len({id(m) for m in calibrator.maps_}) == 1
    text = calibrator.to_json()
    assert text.count('"calibrator"') == 1
    assert len({id(m) for m in load_calibrator(text).maps_}) == 1


def test_what_cannot_be_saved_says_so():
    with pytest.raises(NotFittedError):
        CALIBRATORS.make("temperature").to_json()
    rows = Predictions(np.full((4, 2), 0.5), [0, 1, 0, 1])
    odd = Composed(Identity(), Identity()).fit_on(rows)
    with pytest.raises(InputError, match=r"^this Composed cannot be saved: Composed is not registered in CALIBRATORS$"):
        odd.to_json()
    strange = Identity().fit_on(rows)
    strange.extra_ = {"a": 1}
    with pytest.raises(InputError, match=r"^a dict cannot be saved; fitted state may contain"):
        strange.to_json()
    strange.extra_ = np.array(["a"])
    with pytest.raises(InputError, match=r"^an array of dtype <U1 cannot be saved; supported: bool, float32"):
        strange.to_json()


def test_arrays_of_every_known_kind_and_order_come_back_as_they_were():
    held = Identity().fit([[0.5, 0.5]], [0])
    values = {
        "whole_": np.arange(6, dtype=np.int32).reshape(2, 3),
        "columns_": np.asfortranarray(np.random.default_rng(0).random((3, 4))),
        "empty_": np.empty((0, 3), np.float32),
        "flags_": np.array([True, False]),
        "one_": np.float32(1.5),
        "big_endian_": np.arange(3, dtype=">f8"),
        "gone_": None,
        "lost_": float("nan"),
        "beyond_": -float("inf"),
        "names_": ("a", "b"),
        "steps_": [1, 2.5, (True,)],
    }
    for name, value in values.items():
        setattr(held, name, value)
    made = load_calibrator(held.to_json())
    for name, value in values.items():
        back = getattr(made, name)
        if isinstance(value, (np.ndarray, np.generic)):
            np.testing.assert_array_equal(back, value)
            assert back.dtype == value.dtype.newbyteorder("=")
            assert np.asarray(back).flags.f_contiguous == np.asarray(value).flags.f_contiguous
        else:
            assert repr(back) == repr(value)


# ---- untrusted files ---------------------------------------------------------------------------------------


def saved(**changes):
    data = json.loads(CALIBRATORS.make("class-wise-hb").fit(np.eye(2)[[0, 1] * 60], [0, 1] * 60).to_json())
    return {**data, **changes}


def with_array(**changes):
    data = saved()
    binary = data["state"]["maps_"][0]["calibrator"]["state"]
    binary["values_"] = {k: v for k, v in {**binary["values_"], **changes}.items() if v is not ...}
    return data


TOO_BIG = [10**6, 10**6, 10**6]
BAD = [
    ("{", r"it is not JSON \(Expecting property name"),
    ('{"a":' * 100_000, "it is nested too deeply"),
    (b"{\xff", r"it is not JSON \("),
    ('{"format": NaN}', r"it is not JSON \(NaN is not a JSON number\)"),
    ({}, "\"format\" is not 'calib-calibrator'"),
    (saved(version=VERSION + 1), rf"version {VERSION + 1}\b.* version {VERSION}$"),
    (saved(version=True), "version True"),
    (saved(extra=1), "'extra' is not a known key"),
    ({k: v for k, v in saved().items() if k != "state"}, "'state' is missing"),
    (saved(recipe="no-such"), "its recipe is unknown: calibrator 'no-such' is not known"),
    (saved(recipe={"key": "identity", "params": {"x": 1}}), "its recipe is unknown: 'identity' has no parameter"),
    (saved(recipe=3), "its recipe is unknown"),
    (saved(recipe="ts+" * 3000 + "identity"), "its recipe is unknown"),
    (saved(classes=10**12), '"classes" is 1000000000000; .* from 2 to 1,000,000'),
    (saved(classes=1.0), '"classes" is 1.0'),
    (saved(classes=3), "its calibrator fails"),
    (saved(state=[]), '"state" is not an object'),
    (saved(state={}), r"its calibrator fails on test rows \((NotFittedError|Attr)"),
    (saved(state={"apply": 1}), "'apply' is not the name of a fitted attribute"),
    (saved(state={"__class__": 1}), "'__class__' is not the name of a fitted attribute"),
    (saved(state={"classes_": 1}), "'classes_' is not the name of a fitted attribute"),
    (saved(state={"a_": {"pickle": "x"}}), r"an unknown form \('pickle'\)"),
    (saved(state={"a_": {"same": 0}}), r"an unknown form \('same'\)"),
    (saved(state={"a_": {"calibrator": {"family": "os"}}}), "has no known family"),
    (saved(state={"a_": {"calibrator": 7}}), "has no known family"),
    (with_array(dtype="object"), "an array in it has dtype 'object', which is not one of bool, float32"),
    (with_array(dtype=["f8"]), "an array in it has dtype"),
    (with_array(shape=TOO_BIG), "does not match its contents"),
    (with_array(shape=[-1]), r"an array in it has the shape \[-1\]"),
    (with_array(shape=["2"]), "an array in it has the shape"),
    (with_array(array="!" * 12, shape=[1]), "an array in it is not base64"),
    (with_array(array=...), "'array' is missing|an unknown form"),
    (with_array(order="K"), "an array in it has dtype"),
    (with_array(array=base64.b64encode(b"\2" * 3).decode(), dtype="bool", shape=[3]), "does not match its contents"),
    (with_array(array=base64.b64encode(np.full(1, np.nan).tobytes()).decode(), shape=[1]), "its calibrator fails"),
]


@pytest.mark.parametrize(("content", "why"), BAD, ids=range(len(BAD)))
def test_a_bad_file_is_refused_in_one_sentence(content, why):
    text = content if isinstance(content, (str, bytes)) else json.dumps(content)
    with pytest.raises(InputError, match=rf"^this is not a saved calibrator: .*({why})") as raised:
        load_calibrator(text)
    assert len(str(raised.value)) < 600
    assert "\n" not in str(raised.value)


def paths(data, at=()):
    yield at
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in items:
        yield from paths(value, (*at, key))


JUNK = st.sampled_from(
    [None, True, -1, 0, 3, 10**400, 0.5, "", "x", [], {}, [1], {"a": 1}, {"float": "nan"}, {"tuple": []}, {"same": 0}]
)
WHOLE = [
    json.loads(CALIBRATORS.make(key).fit(Logits(data(np.float64)[0]), data(np.float64)[1]).to_json())
    for key in ("temperature", "top-label-hb", "scaling-binning", "isotonic-ovr", "ts+class-wise-hb")
]


@settings(max_examples=400)
@given(which=st.sampled_from(WHOLE), seed=st.integers(0, 2**32 - 1), junk=JUNK, remove=st.booleans())
def test_any_damage_is_an_input_error_or_a_calibrator_that_works(which, seed, junk, remove):
    damaged = json.loads(json.dumps(which))
    places = [p for p in paths(damaged) if p]
    *way, last = places[seed % len(places)]
    holder = damaged
    for step in way:
        holder = holder[step]
    if remove:
        del holder[last]
    else:
        holder[last] = junk
    try:
        made = load_calibrator(json.dumps(damaged))
    except InputError as why:
        assert "\n" not in str(why)  # noqa: PT017
        return
    k = len(made.classes_)
    made.predict_proba(np.full((2, k), 1 / k))


@settings(max_examples=60)
@given(cut=st.floats(0, 1), text=st.text(max_size=5))
def test_cut_and_spliced_text_is_an_input_error(cut, text):
    whole = json.dumps(WHOLE[1])
    at = int(cut * (len(whole) - 1)) + 1
    with pytest.raises(InputError):
        load_calibrator(whole[:at] + text + "}{")
