"""Typical files of one event: a risk next to an outcome, under common names and in common spellings."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from calib_core._base.arrays import Codes, Floats

N = 80
_DRAW = np.random.default_rng(20)
RISK: Floats = np.round(_DRAW.beta(1.2, 2.4, N), 3)
"""Predicted risks of the event, (N,)."""
OUTCOME: Codes = (_DRAW.uniform(size=N) < RISK).astype(np.int64)
"""Array of 1 if the event came true, (N,)."""
AGE: Codes = _DRAW.integers(19, 93, N)
SEX: Codes = _DRAW.integers(0, 2, N)
LAB: Floats = np.round(_DRAW.normal(4.2, 0.6, N), 1)
SITE = tuple("ABC"[i] for i in _DRAW.integers(0, 3, N))
MISSING = 7
"""Index of the row whose outcome is missing in files that have such a row."""


@dataclass(frozen=True)
class RiskFile:
    """One such file, and the expected result of reading it.

    Parameters
    ----------
    title : its special feature.
    name, data : the file.
    event : the name of the event's class in messages.
    says : parts of the required reports about the predictions; empty without assumptions.
    asks : parts of the refusal's message; if there are some, it must not be read without an answer.
    answer : the fields of the reading that settle it.
    kept : rows that are read, if not all.
    """

    title: str
    data: bytes
    event: str = "1"
    name: str = "risk.csv"
    says: tuple[str, ...] = ()
    asks: tuple[str, ...] = ()
    answer: Mapping[str, Any] = field(default_factory=dict)
    kept: tuple[int, ...] | None = None


def table(columns: Mapping[str, Sequence[Any]], *, apart: str = ",", comma: bool = False) -> bytes:
    """Return the columns as delimited text, optionally with decimal commas."""
    out = io.StringIO()
    writer = csv.writer(out, delimiter=apart, lineterminator="\n")
    writer.writerow(columns)
    for row in zip(*columns.values(), strict=True):
        writer.writerow([str(v).replace(".", ",") if comma and isinstance(v, float) else v for v in row])
    return out.getvalue().encode()


def words(no: Any, yes: Any) -> list[Any]:
    """Return the outcome in two words."""
    return [yes if y else no for y in OUTCOME]


P, Y = RISK.tolist(), OUTCOME.tolist()
IDS = list(range(1001, 1001 + N))
WITH_GAP = ["" if i == MISSING else y for i, y in enumerate(Y)]
OTHERS = tuple(i for i in range(N) if i != MISSING)


def files() -> Iterator[RiskFile]:
    """Yield all of them."""
    for part in _PARTS:
        yield from part()


def _numbers() -> Iterator[RiskFile]:
    """Yield files with an outcome of 0 and 1 under its own name, by itself and among other columns."""
    died = ('"died" contains only 0 and 1', "outcome")
    yield RiskFile("a risk and who died", table({"risk": P, "died": Y}), says=died)
    yield RiskFile(
        "with patient, site and age",
        table({"patient_id": IDS, "site": SITE, "age": AGE.tolist(), "risk": P, "died": Y}),
        says=died,
    )
    yield RiskFile(
        "with sex coded 0 and 1", table({"age": AGE.tolist(), "sex": SEX.tolist(), "risk": P, "died": Y}), says=died
    )
    yield RiskFile(
        "two outcomes",
        table({"risk": P, "died": Y, "readmitted": SEX.tolist()}),
        asks=("died", "readmitted", "label"),
        answer={"label": "died"},
    )
    yield RiskFile(
        "two columns of 0 and 1, neither called an outcome",
        table({"risk": P, "flag_a": Y, "flag_b": SEX.tolist()}),
        asks=("flag_a", "flag_b", "label"),
        answer={"label": "flag_a"},
    )
    yield RiskFile("0.0 and 1.0", table({"risk": P, "died": [float(y) for y in Y]}), says=died)
    yield RiskFile("the index that pandas writes", table({"": range(N), "risk": P, "died": Y}), says=died)
    yield RiskFile(
        "tabs and capitals",
        table({"RISK": P, "DIED": Y}, apart="\t"),
        name="risk.tsv",
        says=('"DIED" contains only 0 and 1',),
    )
    yield RiskFile(
        "names with spaces", table({"Risk score": P, "Died within 30 days": Y}), says=("Died within 30 days",)
    )
    yield RiskFile("outcome_30d", table({"prob_death": P, "outcome_30d": Y}), says=("outcome_30d",))
    yield RiskFile(
        "fraud, with the amount", table({"amount": LAB.tolist(), "fraud_score": P, "is_fraud": Y}), says=("is_fraud",)
    )
    yield RiskFile("churn", table({"customer": IDS, "churn_probability": P, "churned": Y}), says=("churned",))
    yield RiskFile("default", table({"loan_id": IDS, "pd": P, "default": Y}), says=("default",))
    yield RiskFile("a laboratory value beside it", table({"potassium": LAB.tolist(), "risk": P, "died": Y}), says=died)
    yield RiskFile(
        "JSON lines with true and false",
        b"".join(json.dumps({"risk": p, "died": bool(y)}).encode() + b"\n" for p, y in zip(P, Y, strict=True)),
        name="risk.jsonl",
        event="true",
        says=("died",),
    )


def _names() -> Iterator[RiskFile]:
    """Yield files with a score under common names, next to a label named as such."""
    yield RiskFile("pred, event", table({"pred": P, "event": Y}))
    yield RiskFile("prediction, outcome", table({"id": IDS, "prediction": P, "outcome": Y}))
    yield RiskFile("score, event", table({"score": P, "event": Y}))
    yield RiskFile("p, y", table({"p": P, "y": Y}))
    yield RiskFile("y_true, y_pred of scores", table({"y_true": Y, "y_pred": P}))
    yield RiskFile("y_true, y_pred, y_prob", table({"y_true": Y, "y_pred": [int(p > 0.5) for p in P], "y_prob": P}))
    yield RiskFile("phat, obs", table({"phat": P, "obs": Y}))
    yield RiskFile("predicted_prob, actual", table({"predicted_prob": P, "actual": Y}))
    yield RiskFile("model output, target", table({"model_output": P, "target": Y, "age": AGE.tolist()}))
    yield RiskFile(
        "train and test", table({"risk": P, "outcome": Y, "set": ["train" if i % 2 else "test" for i in range(N)]})
    )
    yield RiskFile("an outcome of another kind, age in years", table({"age": AGE.tolist(), "risk": P, "event": Y}))


def _languages() -> Iterator[RiskFile]:
    """Yield files with headers in German and French, with the separators of their spreadsheets."""
    ja, oui = words("nein", "ja"), words("non", "oui")
    yield RiskFile(
        "German, yes and no",
        table({"Risiko": P, "Verstorben": ja}, apart=";", comma=True),
        event="ja",
        says=("Verstorben",),
    )
    yield RiskFile(
        "German, numbers",
        table({"Patient": IDS, "Wahrscheinlichkeit": P, "Ereignis": Y}, apart=";", comma=True),
        says=("Ereignis",),
    )
    yield RiskFile(
        "French",
        "\ufeff".encode() + table({"risque": P, "décès": oui}, apart=";", comma=True),
        event="oui",
        says=("décès",),
    )


def _words() -> Iterator[RiskFile]:
    """Yield files with an outcome in words."""
    yield RiskFile("yes and no", table({"risk": P, "died": words("no", "yes")}), event="yes", says=("died",))
    yield RiskFile("Y and N", table({"score": P, "relapse": words("N", "Y")}), event="Y", says=("relapse",))
    yield RiskFile(
        "TRUE and FALSE", table({"risk": P, "readmitted": words("FALSE", "TRUE")}), event="TRUE", says=("readmitted",)
    )
    yield RiskFile(
        "died and alive", table({"risk": P, "status": words("alive", "died")}), event="died", says=("status",)
    )
    yield RiskFile(
        "dead and alive, sex as a number",
        table({"female": SEX.tolist(), "risk": P, "vital_status": words("Alive", "Dead")}),
        event="Dead",
        says=("vital_status",),
    )
    yield RiskFile("spam and ham", table({"spam_probability": P, "label": words("ham", "spam")}), event="spam")
    yield RiskFile("case and control", table({"risk": P, "outcome": words("control", "case")}), event="case")
    yield RiskFile(
        "two columns of two classes",
        table({"p_no": [round(1 - p, 3) for p in P], "p_yes": P, "outcome": words("no", "yes")}),
        event="yes",
    )


def _other_codes() -> Iterator[RiskFile]:
    """Yield files with other codes of outcomes, other scales, and the probability of the other class."""
    survived = [round(1 - p, 3) for p in P]
    yield RiskFile("outcome -1 and 1", table({"score": P, "outcome": [2 * y - 1 for y in Y]}), event="1")
    yield RiskFile("outcome 1 and 2", table({"risk": P, "died": [y + 1 for y in Y]}), event="2", says=("died", '"2"'))
    yield RiskFile("percent signs", table({"risk": [f"{100 * p:.1f} %" for p in P], "died": Y}), says=("died",))
    yield RiskFile(
        "percentages",
        table({"risk_percent": [round(100 * p, 1) for p in P], "died": Y}),
        says=("is read as percentages", "died"),
    )
    yield RiskFile("log odds", table({"logit": [round(float(np.log(p / (1 - p))), 6) for p in P], "outcome": Y}))
    yield RiskFile(
        "the probability of survival", table({"p_survived": survived, "died": Y}), says=("p_survived", "died")
    )
    yield RiskFile(
        "the probability of being alive, in words",
        table({"prob_alive": survived, "status": words("alive", "dead")}),
        event="dead",
        says=("prob_alive",),
    )


def _gaps() -> Iterator[RiskFile]:
    """Yield files with some or all outcomes missing."""
    yield RiskFile(
        "a missing outcome",
        table({"risk": P, "died": WITH_GAP}),
        asks=("died", "missing"),
        answer={"missing": "exclude"},
        kept=OTHERS,
    )
    yield RiskFile(
        "a missing outcome, NA",
        table({"risk": P, "event": ["NA" if v == "" else v for v in WITH_GAP]}),
        asks=("event", "missing"),
        answer={"missing": "exclude"},
        kept=OTHERS,
    )
    yield RiskFile("no outcome", table({"patient": IDS, "risk": P}), asks=("label", "file"))
    yield RiskFile(
        "two risks of one outcome",
        table({"risk_old": P, "risk_new": P[::-1], "died": Y}),
        asks=("2 models", "model=risk_old"),
        answer={"model": "risk_old"},
    )


_PARTS: tuple[Callable[[], Iterator[RiskFile]], ...] = (_numbers, _names, _languages, _words, _other_codes, _gaps)
