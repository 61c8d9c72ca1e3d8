"""Transcribe long recordings and live speech: who said what, when."""
