"""A fitted calibrator as files: for this library, for any Python, for other languages; and the command that uses it."""

from __future__ import annotations

from functools import partial

import streamlit as st

from calib_core import exporting
from dashboard import widgets
from dashboard.onnx_export import onnx_bytes
from dashboard.session import Model, Scene, call
from dashboard.theme import markdown_plain

WHAT = (
    "JSON: `cc.load_calibrator(path).predict_proba(probs)` gives the numbers shown here, equal to the last bit. "
    "Python: a module that needs no packages. ONNX: for other languages and model servers. The last two are run "
    "beside the calibrator when you click, and refused where they differ from it by more than 0.000001."
)


def offer(scene: Scene, model: Model) -> None:
    """Buttons for the files of one calibrator, and the command that recalibrates another file with it."""
    name = model.recipe.key.replace("+", "-")
    calibrator = scene.get(model.fitted)
    why = scene.refusal(call(exporting.program, model.fitted))
    with st.container(horizontal=True, gap="small", vertical_alignment="center", key=f"take-home-{model.key}"):
        st.markdown("**Export**", width="content")
        widgets.download("JSON", f"calibrator-{name}.json", calibrator.to_json, key=f"saved.{model.key}")
        if not why:
            module = f"calibrator_{name.replace('-', '_')}.py"
            source = partial(exporting.python_source, calibrator)
            widgets.download("Python", module, source, key=f"python.{model.key}")
            onnx = partial(onnx_bytes, calibrator)
            widgets.download("ONNX", f"calibrator-{name}.onnx", onnx, key=f"onnx.{model.key}")
        with st.popover("Apply to a file", key=f"apply.{model.key}"):
            st.caption("With the JSON file, on any file of predictions that is read as this one:")
            st.code(f"calib apply calibrator-{name}.json new.csv -o calibrated.csv", language="sh", wrap_lines=True)
            st.caption(f"{WHAT} {scene.of_all_rows}".rstrip())
    if why:
        st.caption(markdown_plain(f"{why}."))
