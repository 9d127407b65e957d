"""Integrations with other services: model cards, and runs of MLflow and Weights & Biases.

Each takes a path, demo:KEY, or predictions in memory, and the choices of the dashboard by name.

>>> from calib.integrations import Handout
>>> card = Handout.of("demo:wine-logistic").model_card()
>>> card.splitlines()[:2], "## Calibration" in card
(['---', 'model-index:'], True)
"""

from dashboard.integrations.handout import Handout, log_to_mlflow, log_to_wandb

__all__ = ["Handout", "log_to_mlflow", "log_to_wandb"]
