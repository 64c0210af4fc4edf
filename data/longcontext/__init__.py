"""Long documents made of many: permuted, joined, and full of questions whose evidence lies far apart.

`row.compose` builds one from pages and a dice; `solve.answers` answers its questions from the finished document alone.
The two share the wording (`wording.yaml`, data) and nothing else.
"""
