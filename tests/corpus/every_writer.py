"""Imports of all writers of other tools' files: a new module of writers is named only here."""

from tests.corpus import (  # noqa: F401
    coco_files,
    flat_files,
    inspect_files,
    lighteval_files,
    llm_files,
    lm_eval_files,
    table_files,
)
from tests.corpus.foreign_files import WRITERS

__all__ = ["WRITERS"]
