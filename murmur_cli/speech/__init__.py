"""Where speech is, and how it is cut into units of decoding: arithmetic on spans, no torch."""
