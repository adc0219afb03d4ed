"""Who runs the E-step where."""
