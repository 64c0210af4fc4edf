"""A trainable measure of quality: a linear model over hashed word n-grams, one small file, scored in whole numbers."""
