"""Usual roles of column and array names."""

from __future__ import annotations

import re
from collections.abc import Iterable

from calib_core.predictions.event_names import words_of

_ROLES: dict[str, str] = {
    "label": "label labels y y_true ytrue true_label true_labels target targets ground_truth gt truth true "
    "true_class class actual actual_label outcome y_test y_val ytest yval answer event obs truelabel "
    "ergebnis wahrheit vérité esito desfecho uitkomst utfall skutečnost αποτέλεσμα исход результат النتيجة "
    "真实标签 真实类别 真实值 标签 实际 实际类别 实际值 结果 実際 正解 正解ラベル 結果 실제 실제값 정답",
    "predicted": "predicted prediction predictions pred preds y_pred ypred predicted_class predicted_label pred_label "
    "pred_class guess",
    "confidence": "confidence confidences conf max_prob top_prob max_probability "
    "p_correct prob_correct probability_correct certainty sicherheit konfidenz confianza confiance",
    "correct": "correct is_correct hit hits correctness right accurate matched richtig korrekt correcto",
    "split": "split fold subset partition set",
    "weights": "weight weights sample_weight sample_weights",
    "group": "group groups group_id cluster cluster_id patient patients patient_id subject subjects subject_id person "
    "person_id participant participant_id user user_id question question_id author author_id speaker speaker_id",
    "probabilities": "probs probabilities prob probability p proba predict_proba y_prob y_proba y_score softmax "
    "y_pred_proba y_pred_prob pred_probability predicted_prob "
    "scores score p_hat pred_probs pred_proba risk predicted_risk predicted_probability",
    "logits": "logits logit z raw_scores rawformulaval",
    "log-probabilities": "log_probs logprobs log_probabilities log_prob logprob log_softmax",
    "class names": "class_names classes names label_names class_labels categories",
    "question": "question questions question_id qid prompt prompt_id problem item",
    "index": "index id ids idx row row_id sample_id image_id unnamed:_0 __index_level_0__",
}
_ROLE_OF = {word: role for role, words in _ROLES.items() for word in words.split()}

_PER_CLASS = re.compile(
    r"(?P<prefix>\.pred|p|prob|probs|proba|probability|y_prob|pred_prob|pred_proba|score|scores|softmax|conf|confidence|class"
    r"|output|logit|logits|z|log_?probs?|log_?softmax)(?:\s*(?P<mark>[_\-.:/])(?P=mark)*\s*|\s*(?P<open>[(\[])|\s+|(?=\d))"
    r"(?P<name>.+)",
    re.IGNORECASE | re.DOTALL,
)
_ONE_HOT = re.compile(
    r"(?P<prefix>y|label|true|target|onehot|one_hot|is|actual|y_true)[\s_\-.:/]+(?P<name>.+)", re.IGNORECASE | re.DOTALL
)


_IN_PERCENT = re.compile(r"[_\s]*\(?(in_)?(%|pct|perc|percent|percentages?|prozent|pourcent)\)?$")


def role(name: str) -> str | None:
    """Role of a name, or None.

    >>> role("Y-true"), role("probs"), role("confidence (%)"), role("banana")
    ('label', 'probabilities', 'confidence', None)
    """
    word = re.sub(r"[\s\-.]+", "_", name.strip(" ?").casefold())
    if called_percent(name) and (found := _ROLE_OF.get(_IN_PERCENT.sub("", word))) in ("confidence", "probabilities"):
        return found
    return _ROLE_OF.get(word)


def named(names: Iterable[str], wanted: str) -> list[str]:
    """Names with the role ``wanted``."""
    return [name for name in names if role(name) == wanted]


_BY_LAST_WORD = frozenset({"confidence", "correct"})
"""Roles that a longer name has by its last word, such as "verbalized_confidence"."""


def named_last(names: Iterable[str], wanted: str) -> list[str]:
    """Names with the role ``wanted``, else those whose last part behind a point has it, else, for some, the last word.

    >>> named_last(["outputs.confidence", "latency"], "confidence"), named_last(["response_correct"], "correct")
    (['outputs.confidence'], ['response_correct'])
    """
    every = list(names)
    if found := named(every, wanted):
        return found
    lasts = {name: name.rpartition(".")[2] for name in every if "." in name}
    found = [name for name, last in lasts.items() if len(last) > 1 and role(last) == wanted]
    if found or wanted not in _BY_LAST_WORD:
        return found
    words = {name: re.split(r"[\s_\-.]+", name.strip()) for name in every if role(name) is None}
    return [name for name, each in words.items() if role(each[-1]) == wanted]


def class_of(name: str) -> tuple[str, str] | None:
    """Prefix and class of a score column such as "p_cat", "prob(cat)" or "logit 3"; None for other names.

    >>> class_of("p_cat"), class_of("prob(cat)"), class_of("banana")
    (('p', 'cat'), ('prob', 'cat'), None)
    """
    found = _PER_CLASS.fullmatch(name.strip())
    if found is None:
        return None
    inner = found["name"]
    if found["open"]:
        inner = inner.removesuffix(")").removesuffix("]")
    return (found["prefix"].casefold(), inner) if inner else None


def one_hot_class(name: str) -> str | None:
    """Class of a one-hot label column such as "y_cat" or "is_cat"; None for other names."""
    found = _ONE_HOT.fullmatch(name.strip())
    return None if found is None else found["name"]


_PERCENT_WORDS = "pct perc percent percents percentage percentages prozent pourcent porcentaje percentuale procent"
_PERCENT = frozenset(_PERCENT_WORDS.split())


def called_percent(name: str) -> bool:
    """True if a column is named like percentages.

    >>> called_percent("risk (%)"), called_percent("riskPct"), called_percent("percentile")
    (True, True, False)
    """
    return "%" in name or bool(_PERCENT & set(words_of(name)))


def called_log(name: str) -> bool:
    """True if a column is named like logarithms of probabilities.

    >>> called_log("avg_logprob"), called_log("log_probability"), called_log("log_loss")
    (True, True, False)
    """
    words = set(words_of(name))
    logs = {"logprob", "logprobs", "logp", "lnprob", "loglikelihood"}
    probabilities = {"p", "prob", "probs", "proba", "probability", "probabilities", "likelihood", "softmax"}
    return role(name) == "log-probabilities" or bool(words & logs or (words & {"log", "ln"} and words & probabilities))


def log_base(name: str) -> int | None:
    """Return 2 or 10 if a column is named like logarithms to that base, else None.

    >>> log_base("log2_prob"), log_base("log10p"), log_base("log_prob")
    (2, 10, None)
    """
    found = re.search(r"log_?(2|10)(?!\d)", name.casefold())
    return int(found[1]) if found else None
