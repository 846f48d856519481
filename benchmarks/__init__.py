"""What `make bench` measures. Each module has `measure()`, which returns rows of numbers."""
