"""The benchmarks of `make bench`. Each module has a function `measure()` that returns rows of numbers."""
