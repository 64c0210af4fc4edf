"""The joint training run: loop, checkpoints, metrics, report."""
