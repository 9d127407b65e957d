"""Names that an extension package needs to add an exhibit, a table or figure with its words."""

from dashboard.exhibits import EXHIBITS, Exhibit, columns
from dashboard.session import call

__all__ = ["EXHIBITS", "Exhibit", "call", "columns"]
