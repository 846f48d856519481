"""The package's kernels for other machines than the one Python runs on: WebAssembly, for browsers."""
