"""The text around an exported module's steps: what it says of itself, its imports, and what every module ends with."""

from __future__ import annotations

import re

from calib_core.exporting import runtime
from calib_core.exporting.nodes import EachClass, Program, Ranked
from calib_core.exporting.trial import ROUNDING, ExportTrial, bins_computed
from calib_core.registry.registry import Recipe

FORMAT, VERSION = "calib-python", 1


def head(steps: Program, title: str, trial: ExportTrial | None, confidences: bool) -> str:
    """The module's docstring."""
    k, kind = steps.given.n_classes, steps.given.kind
    checked_on = "" if trial is None else f"\n\n{trial.sentence}"
    rounding = f"\n{ROUNDING}" if bins_computed(steps) else ""
    more = "    calibrate_confidence(c)  # the largest probability without its row\n" if confidences else ""
    more += "    abstains(row)        # whether the model gives no answer\n" if steps.abstained else ""
    option = "\n    python this_module.py --confidence < numbers.json > calibrated.json" if confidences else ""
    doc = f"""{title}.

Fitted and exported by calib; it needs Python 3.10 or newer and no packages.

    from this_module import calibrate, predict_proba
    calibrate(row)       # a list of {k} {kind}
    predict_proba(rows)  # a list of rows
{more}
    python this_module.py < rows.json > calibrated.json{option}

{_returned(steps)}
It works in double precision.{rounding}{checked_on}
"""
    return f'"""{_harmless(doc)}"""'


def _returned(steps: Program) -> str:
    """What a row becomes."""
    result = steps.result
    if isinstance(result, Ranked) and len(result.maps) == 1:
        return "A row becomes one number, the probability of its predicted class: the largest, the first on a tie."
    if isinstance(result, Ranked):
        return f"A row becomes the probabilities of its {len(result.maps)} largest classes, largest first."
    if isinstance(result, EachClass):
        return "A row stays a row of probabilities, which need not sum to one."
    return "A row stays a row of probabilities that sum to one."


def _harmless(text: str) -> str:
    """Text that cannot end the docstring it stands in."""
    return text.replace("\\", "/").replace('"', "'")


def stamp(recipe: Recipe | None, program: str) -> str:
    """Imports of what the program uses, and what the module is."""
    modules = [f"import {name}" for name in ("bisect", "math") if f"{name}." in program]
    typing = ["from typing import Any"] if re.search(r"\bAny\b", program) else []
    imports = "\n".join([*modules, *typing])
    floor = f"\nFLOOR = {runtime.FLOOR!r}" if "FLOOR" in program else ""
    made_by = None if recipe is None else recipe.to_json()
    facts = f"FORMAT, VERSION = {FORMAT!r}, {VERSION!r}\nRECIPE = {made_by!r}{floor}"
    return f"from __future__ import annotations\n\n{imports}\n\n{facts}"


CONFIDENCE = "--confidence"
"""Option of a module run as a program: numbers come in instead of rows."""

CONFIDENCE_FUNCTION = '''
def calibrate_confidence(confidence):
    """Recalibrates the probability of a predicted class, whatever the other classes had."""
    if not 0.0 <= confidence <= 1.0:
        raise ValueError(f"the confidence is {{confidence}}; it must lie in [0, 1]")
    return mapped(float(confidence), {map})
'''

PREDICT = '''
def predict_proba(rows):
    """Recalibrates rows, each by itself."""
    return [calibrate(row) for row in rows]
'''

MAIN = """
if __name__ == "__main__":
    import json
    import sys

    json.dump(predict_proba(json.load(sys.stdin)), sys.stdout)
"""

MAIN_OF_CONFIDENCES = f"""
if __name__ == "__main__":
    import json
    import sys

    given = json.load(sys.stdin)
    alone = {CONFIDENCE!r} in sys.argv
    json.dump([calibrate_confidence(c) for c in given] if alone else predict_proba(given), sys.stdout)
"""
