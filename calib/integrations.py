"""Model cards, and runs of MLflow and Weights & Biases.

>>> from calib.integrations import Handout
>>> Handout.of("demo:wine-logistic").model_card().splitlines()[:2]
['---', 'model-index:']
"""

from dashboard.integrations import Handout, log_to_mlflow, log_to_wandb

__all__ = ["Handout", "log_to_mlflow", "log_to_wandb"]
