"""The version of murmur, read by the build and by ``murmur --version``."""

__all__ = ["__version__"]

__version__ = "0.1.0"
