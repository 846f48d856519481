"""The package's version. It has its own file so that packaging tools need not import the engine."""

__version__ = "0.2.0"
