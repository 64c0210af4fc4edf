"""Pages that move: games and animations on a clock of ours, their clips, and a generator of such pages."""
