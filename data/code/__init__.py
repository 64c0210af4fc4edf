"""Source files: language, licence, what is no code, keys masked, and the order of a repository's files."""
