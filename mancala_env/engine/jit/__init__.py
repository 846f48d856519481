"""Compilation of kernels.

| module | content |
|---|---|
| `decorator` | `kernel`: compile a function with numba, and cache it by the hash of its sources |
| `inner` | kernels that other kernels call |
| `cache` | compiled kernels on disk |
| `threads` | parallel work on slices of many games, with threads |
| `pace` | sizes of pieces of work, so that Python can handle signals between them |
| `prefetch` | start loading memory before it is read |
| `interrupts` | signals during a compilation |
"""
