"""Predictions of LightGBM, XGBoost, H2O and scikit-learn on rows drawn here, saved as their users save them.

Run with the packages: python -m tests.foreign_tools.writes_boosted FOLDER
"""

from __future__ import annotations

import sys
from importlib.metadata import version

import numpy as np

from tests.foreign_tools.written import Written, drawn


def scikit(folder: str) -> None:
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import cross_val_predict

    tool, (x, y) = Written(folder, "scikit-learn", version("scikit-learn")), drawn()
    for name, labels in (("three", y), ("two", np.minimum(y, 1))):
        probs = cross_val_predict(LogisticRegression(), x, labels, cv=4, method="predict_proba")
        np.save(tool.path(f"{name}.npy"), probs)
        np.save(tool.path(f"{name}_y.npy"), labels)
        tool.has(f"{name}.npy", probs=probs, labels=labels, labels_file=f"{name}_y.npy", kept=name == "three")
    logs = cross_val_predict(LogisticRegression(), x, y, cv=4, method="predict_log_proba")
    np.save(tool.path("logs.npy"), logs)
    tool.has("logs.npy", probs=np.exp(logs), labels=y, labels_file="three_y.npy")
    margins = cross_val_predict(LogisticRegression(), x, np.minimum(y, 1), cv=4, method="decision_function")
    np.savez(tool.path("margins.npz"), logits=margins, labels=np.minimum(y, 1))
    p = 1 / (1 + np.exp(-margins))
    tool.has("margins.npz", probs=np.stack([1 - p, p], axis=1), labels=np.minimum(y, 1))


def lightgbm(folder: str) -> None:
    import lightgbm as lgb

    tool, (x, y) = Written(folder, "lightgbm", lgb.__version__), drawn()
    np.savetxt(tool.path("y.csv"), y, fmt="%d", header="label", comments="")
    for name, options in (("multiclass", {"objective": "multiclass", "num_class": 3}), ("binary", {})):
        options = {"objective": "binary", "min_data_in_leaf": 5, "verbose": -1, **options}
        labels = y if name == "multiclass" else np.minimum(y, 1)
        booster = lgb.train(options, lgb.Dataset(x, labels), 5)
        found = booster.predict(x)
        np.savetxt(tool.path(f"{name}.txt"), found, delimiter="\t")
        probs = found if found.ndim > 1 else np.stack([1 - found, found], axis=1)
        tool.has(f"{name}.txt", asks="no labels", kept=name == "binary")
        # What the booster was trained on: labels first, then features.
        np.savetxt(tool.path(f"{name}_rows.txt"), np.column_stack([labels, x]), fmt="%g", delimiter="\t")
        for labels_file in ("y.csv", f"{name}_rows.txt") if name == "multiclass" else (f"{name}_rows.txt",):
            tool.has(f"{name}.txt", "number-text", probs=probs, labels=labels, labels_file=labels_file, kept=True)
        frame = found if found.ndim > 1 else found[:, None]
        header = "\t".join(["label", *(f"p_{k}" for k in range(frame.shape[1]))])
        both = np.column_stack([labels, frame])
        form = ["%d", *["%.18e"] * frame.shape[1]]
        np.savetxt(tool.path(f"{name}_named.tsv"), both, delimiter="\t", fmt=form, header=header, comments="")
        tool.has(f"{name}_named.tsv", probs=probs, labels=labels)


def xgboost(folder: str) -> None:
    import pandas as pd
    import xgboost as xgb

    tool, (x, y) = Written(folder, "xgboost", xgb.__version__), drawn()
    options = {"objective": "multi:softprob", "num_class": 3, "nthread": 1}
    booster = xgb.train(options, xgb.DMatrix(x, y), 4)
    found = booster.predict(xgb.DMatrix(x))  # float32
    np.savez(tool.path("softprob.npz"), preds=found, y=y)
    tool.has("softprob.npz", probs=found, labels=y, within=1e-6, kept=True)
    np.savez(tool.path("margins.npz"), logits=booster.predict(xgb.DMatrix(x), output_margin=True), y=y)
    tool.has("margins.npz", probs=found, labels=y, within=1e-6)
    frame = pd.DataFrame(found, columns=["p_0", "p_1", "p_2"]).assign(label=y)
    frame.to_csv(tool.path("with_index.csv"))
    tool.has("with_index.csv", probs=found, labels=y, within=1e-6)
    frame.to_json(tool.path("columns.json"))
    tool.has("columns.json", probs=found, labels=y, within=1e-6)
    frame.to_json(tool.path("records.json"), orient="records")
    tool.has("records.json", probs=found, labels=y, within=1e-6)
    frame.to_json(tool.path("split.json"), orient="split")
    tool.has("split.json", probs=found, labels=y, within=1e-6)


def h2o(folder: str) -> None:
    import h2o as server
    import pandas as pd
    from h2o.estimators import H2OGradientBoostingEstimator

    tool, (x, y) = Written(folder, "h2o", server.__version__), drawn(60)
    server.init(nthreads=1, max_mem_size="1g", name="foreign", bind_to_localhost=True)
    server.no_progress()
    try:
        for name, levels in (
            ("three", ["low", "mid range", "high!"]),
            ("two", ["no", "yes"]),
            ("numbers", ["0", "1"]),
            ("many_numbers", ["10", "20", "30"]),
            ("signed", ["-1", "1"]),
        ):
            labels = np.minimum(y, len(levels) - 1)
            rows = server.H2OFrame(pd.DataFrame({"a": x[:, 0], "b": x[:, 1], "y": np.array(levels)[labels]}))
            rows["y"] = rows["y"].asfactor()
            domain = rows["y"].levels()[0]
            calibrated = {"calibrate_model": True, "calibration_frame": rows} if len(levels) == 2 else {}
            model = H2OGradientBoostingEstimator(ntrees=5, min_rows=3, seed=7, **calibrated)
            model.train(["a", "b"], "y", rows)
            both = model.predict(rows).cbind(rows["y"])
            server.export_file(both, str(tool.path(f"{name}.csv")), force=True)
            frame = both.as_data_frame(use_multi_thread=False)
            frame.to_csv(tool.path(f"{name}_pandas.csv"), index=False)
            probs = frame.iloc[:, 1 : 1 + len(levels)].to_numpy()
            own = [domain.index(levels[c]) for c in labels]
            for file in (f"{name}.csv", f"{name}_pandas.csv"):
                tool.has(file, "h2o", probs=probs, labels=own, classes=domain, within=1e-9,
                         kept=file == "signed.csv")  # fmt: skip
                if calibrated:
                    raised = frame.iloc[:, 3:5].to_numpy()
                    chosen = {"scores": list(frame.columns[3:5])}
                    tool.has(file, "h2o", probs=raised, labels=own, classes=domain, chosen=chosen, within=1e-9)
    finally:
        server.cluster().shutdown()


if __name__ == "__main__":
    for name in sys.argv[2:] or ("scikit", "lightgbm", "xgboost", "h2o"):
        globals()[name](sys.argv[1])
