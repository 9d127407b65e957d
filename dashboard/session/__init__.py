"""What a person has in hand: files, the models made of them, and every result once."""

from dashboard.session.call import Call, call, python
from dashboard.session.files import File, changes, file, findings, hold, is_here, label_counts, proposed, reading, whole
from dashboard.session.models import (
    BASE,
    Model,
    Models,
    division,
    file_names,
    models,
    parts,
    shared,
    short_names,
    split_by,
    title_read,
    triangle,
    truth,
    usable,
)
from dashboard.session.scene import DECLARED, Focus, Scene, scene_of
from dashboard.session.shelf import FILES, RESULTS, Missing, Shelf
from dashboard.session.shell import report_line, show_line

__all__ = [
    "BASE",
    "DECLARED",
    "FILES",
    "RESULTS",
    "Call",
    "File",
    "Focus",
    "Missing",
    "Model",
    "Models",
    "Scene",
    "Shelf",
    "call",
    "changes",
    "division",
    "file",
    "file_names",
    "findings",
    "hold",
    "is_here",
    "label_counts",
    "models",
    "parts",
    "proposed",
    "python",
    "reading",
    "report_line",
    "scene_of",
    "shared",
    "short_names",
    "show_line",
    "split_by",
    "title_read",
    "triangle",
    "truth",
    "usable",
    "whole",
]
