"""From the answers of the chunks to a finished transcript, and from there to files."""
