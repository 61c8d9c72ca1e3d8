"""Whisper: windows of a chunk to timed words, in plain torch."""
