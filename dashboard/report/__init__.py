"""Reports for reviewers: the diagrams and figures of the screen in one self-contained file."""

from dashboard.report.asked import Asked, Options
from dashboard.report.build import Progress, Report, again, build, steps
from dashboard.report.recipe import ReportRecipe
from dashboard.report.recipe import read as read_recipe
from dashboard.report.sections import CHAPTERS

__all__ = [
    "CHAPTERS",
    "Asked",
    "Options",
    "Progress",
    "Report",
    "ReportRecipe",
    "again",
    "build",
    "read_recipe",
    "steps",
]
