"""Distribution of estimates for a calibrated model."""
