"""VibeVoice-ASR: text, times and speakers of a chunk in one pass."""
