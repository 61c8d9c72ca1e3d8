"""Who speaks: turns, voices, and names that hold for a whole recording."""
