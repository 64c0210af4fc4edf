"""Computer-aided design: scripts and files that make solids, what solids are, and how they are drawn."""
