"""Compilation of kernels: the decorator, its disk cache, threads and signals."""
