"""Loaders of others beside ours, one a file: the same records, set up as each one's own guide says.

Odd: each is measured in a process of its own (`python bench/loader.py --peer NAME FOLDER`), so that memory is its own
and a peer that breaks costs a line. A peer gives its `figures` only when one pass has brought every token.
"""
