"""Beam recipes: one corpus each."""
