"""The command groups of the CLI, one module each; heavy libraries are imported inside the commands."""
