"""The demo: real files in, a trained model out, on one CPU, by the same commands that a user types."""
