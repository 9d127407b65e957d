"""What estimates show on a calibrated model."""
