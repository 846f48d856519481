"""The package's version, alone in a file so that packaging need not import the engine."""

__version__ = "0.1.0"
