"""Predictions of Weka's naive Bayes on rows drawn here. Run: python -m tests.foreign_tools.writes_weka FOLDER.

The PyPI package python-weka-wrapper3, installed with --no-deps, brings weka.jar. Weka's XML of the same run gives the
content of the files, with more digits.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np

from tests.foreign_tools.written import Written, drawn

NAMES = ("low", "so and so", "it's high")
OUTPUT = "weka.classifiers.evaluation.output.prediction"


def main(folder: str) -> None:
    jar = wheel_jar()
    x, y = drawn(12)

    def weka(*words: str) -> str:
        command = ["java", "-cp", jar, *words]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    tool = Written(folder, "weka", weka("weka.core.Version").split()[0])
    quoted = [f'"{name}"' for name in NAMES]
    data = tool.path("rows.arff")
    lines = ["@relation rows", "@attribute a numeric", "@attribute b numeric", f"@attribute y {{{','.join(quoted)}}}"]
    rows = [f"{a},{b},{quoted[c]}" for (a, b), c in zip(x, y, strict=True)]
    data.write_text("\n".join([*lines, "@data", *rows]) + "\n")

    def predicted(form: str, *options: str) -> str:
        words = ["weka.classifiers.bayes.NaiveBayes", "-t", str(data), "-T", str(data)]
        return weka(*words, "-classifications", " ".join([f"{OUTPUT}.{form}", *options]))

    exact = predicted("XML", "-distribution", "-decimals", "12")
    tree = ET.fromstring(exact[exact.index("<predictions ") : exact.index("</predictions>")] + "</predictions>")
    probs = np.array([[float(each.text) for each in row.iter("class_label")] for row in tree.iter("prediction")])
    for what, *options in (
        ("distribution",),
        ("digits", "-decimals", "12"),
        ("tabs", "-use-tab"),
        ("attribute", "-p", "1"),
        ("prediction",),
    ):
        more = () if what == "prediction" else ("-distribution",)
        tool.path(f"{what}.csv").unlink(missing_ok=True)
        predicted("CSV", *more, *options, "-file", str(tool.path(f"{what}.csv")), "-suppress")
        within = 1e-11 if what == "digits" else 1e-3
        if what == "prediction":
            truth = {"confidence": probs.max(axis=1), "correct": probs.argmax(axis=1) == y}
            tool.has(f"{what}.csv", "weka", **truth, within=within, kept=True)
        else:
            tool.has(f"{what}.csv", "weka", probs=probs, labels=y, classes=NAMES, within=within, kept=what == "tabs")
    data.unlink()


def wheel_jar() -> str:
    """Return the path of weka.jar in a package that is not imported, since it would look for a Java bridge."""
    found = importlib.util.find_spec("weka")
    if found is None or not found.submodule_search_locations:
        raise SystemExit("python-weka-wrapper3 is not installed")
    return str(Path(found.submodule_search_locations[0]) / "lib" / "weka.jar")


if __name__ == "__main__":
    main(*sys.argv[1:])
