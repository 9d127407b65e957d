"""The papers, reproduced, and tables in their form."""
