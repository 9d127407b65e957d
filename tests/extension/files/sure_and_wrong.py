"""Error rates of each model where its confidence is high."""

from dataclasses import dataclass
from typing import Annotated

import pandas as pd

from calib.exhibits import EXHIBITS, Exhibit, call
from calib.exhibits import columns as of
from calib_core.registry import Range


def sure_and_wrong(models, least=0.9):
    """Rows of each model with at least this confidence, and the share of them that is wrong."""
    wrong = [pd.Series(~rows.correct[rows.confidence >= least]) for rows in models.values()]
    return pd.DataFrame({"model": models.keys(), "rows": map(len, wrong), "wrong": [each.mean() for each in wrong]})


@EXHIBITS.register("sure-and-wrong", "Sure and wrong")
@dataclass(frozen=True)
class SureAndWrong(Exhibit):
    """Error rates of each model where its confidence is high."""

    confidence: Annotated[float, Range(0, 1), "least confidence of the rows that count"] = 0.9

    def table(self, scene):
        return call(sure_and_wrong, scene.each(lambda model: model.predictions), least=self.confidence)

    def columns(self, frame):
        return of.text("model"), of.whole("rows"), of.share("wrong")
