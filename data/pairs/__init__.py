"""What all programmatic corpora share: items of code and picture, what is in them, and the tasks made of that."""
