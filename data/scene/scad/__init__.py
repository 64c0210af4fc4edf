"""OpenSCAD's language, as far as it is read here: tokens, files that code names, what its evaluated tree says."""
