"""POV-Ray's scene language, as far as it is read here: tokens, literal statements, what they say exactly."""
