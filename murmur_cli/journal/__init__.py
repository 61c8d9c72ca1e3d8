"""What outlives a run: finished chunks, so that it can be resumed, and finished outputs, so that it need not be."""
