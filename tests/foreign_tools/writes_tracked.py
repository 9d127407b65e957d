"""Tables of MLflow and of Weights & Biases, on local stores.

Run with both: python -m tests.foreign_tools.writes_tracked FOLDER
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd

from tests.foreign_tools.written import Written, drawn

NAMES = ("low", "mid", "high")


def frame() -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Return rows as people log them: an id, the true and the predicted class, one probability per class."""
    x, y = drawn(20)
    scores = np.exp(-((x[:, :1] - np.arange(3)) ** 2))
    probs = scores / scores.sum(axis=1, keepdims=True)
    predicted = np.array(NAMES)[probs.argmax(axis=1)]
    named = {f"p_{name}": probs[:, k] for k, name in enumerate(NAMES)}
    return pd.DataFrame({"id": range(len(y)), "truth": np.array(NAMES)[y], "guess": predicted, **named}), probs, y


def mlflow(folder: str) -> None:
    import mlflow as tracker
    from sklearn.linear_model import LogisticRegression

    tool, (rows, probs, y) = Written(folder, "mlflow", tracker.__version__), frame()
    with TemporaryDirectory() as there:
        os.chdir(there)
        tracker.set_tracking_uri(f"sqlite:///{there}/runs.db")
        with tracker.start_run() as run:
            tracker.log_table(rows, "table.json")
            x, _ = drawn(20)
            data = pd.DataFrame({"a": x[:, 0], "b": x[:, 1], "y": y})
            model = tracker.sklearn.log_model(
                LogisticRegression().fit(x, y), name="model", serialization_format="pickle"
            )

            def hit(predictions: pd.Series, targets: pd.Series) -> tracker.metrics.MetricValue:
                return tracker.metrics.MetricValue(scores=[float(v) for v in predictions == targets])

            metric = tracker.metrics.make_metric(eval_fn=hit, greater_is_better=True, name="hit")
            tracker.models.evaluate(model.model_uri, data, targets="y", model_type="classifier", evaluators=["default"],
                                    extra_metrics=[metric])  # fmt: skip
        artifacts = Path(tracker.MlflowClient().download_artifacts(run.info.run_id, "", there))
        for name, truth in (
            ("table.json", {"probs": probs, "labels": y, "classes": NAMES, "within": 1e-9}),
            ("eval_results_table.json", {"asks": "predicted classes but no probabilities"}),
        ):
            shutil.copy(next(artifacts.rglob(name)), tool.path(name))
            tool.has(name, **truth, kept=True)
        os.chdir("/")


def wandb(folder: str) -> None:
    with TemporaryDirectory() as there:
        os.environ |= {"WANDB_MODE": "offline", "WANDB_DIR": there, "WANDB_DATA_DIR": there, "WANDB_SILENT": "true"}
        import wandb as tracker

        tool, (rows, probs, y) = Written(folder, "wandb", tracker.__version__), frame()
        run = tracker.init(project="p")
        run.log({"predictions": tracker.Table(dataframe=rows)})
        mixed = tracker.Table(columns=["id", "image", "guess", "truth", *(f"score_{k}" for k in range(3))])
        for i, row in enumerate(probs):
            picture = tracker.Image(np.full((2, 2), i, dtype=np.uint8))
            mixed.add_data(i, picture, int(row.argmax()), int(y[i]), *row)
        run.log({"with_images": mixed})
        run.finish()
        truth = {"probs": probs, "labels": y, "within": 1e-12}
        for name in ("predictions", "with_images"):
            found = next(Path(there).rglob(f"{name}_*.table.json"))
            shutil.copy(found, tool.path(f"{name}.table.json"))
            classes = {"classes": NAMES} if name == "predictions" else {}
            kept = name == "with_images"
            tool.has(f"{name}.table.json", "wandb-table", **truth, **classes, kept=kept)


if __name__ == "__main__":
    for name in sys.argv[2:] or ("mlflow", "wandb"):
        globals()[name](str(Path(sys.argv[1]).resolve()))
