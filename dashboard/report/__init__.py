"""Reports for reviewers: the diagrams and figures of the screen in one self-contained file."""

from dashboard.report.build import Progress, Report, again, build, steps
from dashboard.report.recipe import ReportRecipe
from dashboard.report.recipe import read as read_recipe
from dashboard.report.request import Options, Request
from dashboard.report.sections import CHAPTERS, chapters, wanted

__all__ = [
    "CHAPTERS",
    "Options",
    "Progress",
    "Report",
    "ReportRecipe",
    "Request",
    "again",
    "build",
    "chapters",
    "read_recipe",
    "steps",
    "wanted",
]
