"""HTML to text that keeps structure."""
