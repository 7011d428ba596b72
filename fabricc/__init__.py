"""fabricc: the compiler for lossless AI fabrics."""

__version__ = "0.1.0"
