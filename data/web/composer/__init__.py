"""Pages that a seed composes from components: every page is another one, and its words claim nothing."""
