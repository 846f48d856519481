"""Compile the kernels of the package to WebAssembly, for browsers."""
