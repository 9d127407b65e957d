"""Frame around every view: the current data, the rooms, the models on show, bins and tolerance."""

from dashboard.frame.chips import model_chips, one_chip, settings_of, settle_chips
from dashboard.frame.fitting import await_models, follow_advice, is_to_follow
from dashboard.frame.header import header
from dashboard.frame.settings import settings
from dashboard.frame.style import answer, dress, presenting_keys

__all__ = [
    "answer",
    "await_models",
    "dress",
    "follow_advice",
    "header",
    "is_to_follow",
    "model_chips",
    "one_chip",
    "presenting_keys",
    "settings",
    "settings_of",
    "settle_chips",
]
