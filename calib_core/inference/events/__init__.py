"""The number of events of a risk: rows, logistic fits, ends of intervals, and how many events a verdict needs."""
