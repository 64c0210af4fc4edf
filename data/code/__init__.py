"""Source files: language, licence, what is no code, and the order of a repository's files."""
