"""Rephrasing: excerpts rewritten chunk by chunk by a language model behind one small protocol, and a gate after it."""
