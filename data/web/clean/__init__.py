"""A page as a stranger wrote it → one clean HTML document: what is drawn, the rules that draw it, its own pictures."""
