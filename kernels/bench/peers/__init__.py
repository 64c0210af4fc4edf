"""Other libraries' operators behind our operands, one file a library; each is imported where it is first bound."""
