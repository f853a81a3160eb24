"""Training runs: the loop, checkpoints, logs."""
