"""From a file that somebody recorded to mono samples at the rates that the stages need."""
