"""From rows of the plan to batches: tokens read in place, pictures decoded apart, damage left out by name.

Odd: what is trained is a function of the plan and of the bytes alone. A record whose bytes are damaged is left out
wherever and whenever it is met; storage that fails is waited for and in the end stops the run, never skipped.
"""
