"""Implementations: the only place that knows a model by name.

Importing this package loads nothing; each module below brings in what it needs.
"""
