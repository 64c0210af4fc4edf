"""Backends of rephrasing that need more than an endpoint: our own model, and actors of Ray."""
