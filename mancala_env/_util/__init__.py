"""Shared checks, files and command-line code; not part of the public interface."""
