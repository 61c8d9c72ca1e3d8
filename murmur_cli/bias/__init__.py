"""Hearing the words of a list: its file, its graph, its scores on tokens. Only ``store`` knows torch."""
