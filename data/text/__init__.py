"""Web text: markup to main text, language, quality scores. One stage a file; none keeps state between items."""
