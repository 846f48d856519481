"""Experimental: many games on a GPU, played by the kernels of the processor.

It needs the extra `cuda`. ``import mancala_env`` does not load this package.

| module | content |
|---|---|
| `batch` | `CudaBatch`: the interface of Batch, with torch tensors |
| `kernels` | the kernels of the processor as functions for the GPU |
| `device` | tensors as arrays of kernels, and launches on torch's stream |
"""

from mancala_env._util.installation import pip_command

try:
    from mancala_env.cuda.batch import CudaBatch
    from mancala_env.cuda.device import is_available
except ModuleNotFoundError as missing:
    raise ImportError(f"games on a GPU need {missing.name}: {pip_command('cuda')}") from missing

__all__ = ["CudaBatch", "is_available"]
