"""The GPU: torch tensors as arrays of kernels, and launches on torch's current stream.

With ``NUMBA_ENABLE_CUDASIM=1``, numba simulates a GPU: kernels are Python, and tensors are on the CPU.
"""

from functools import lru_cache
from typing import Any

import torch
from numba import cuda

from mancala_env.cuda.kernels import make_kernels

_cuda: Any = cuda
IS_SIMULATED = "simulator" in _cuda.jit.__module__
_THREADS_OF_A_BLOCK = 128


def is_available() -> bool:
    """Return whether torch and numba find a GPU, or numba simulates one."""
    return IS_SIMULATED or (torch.cuda.is_available() and bool(_cuda.is_available()))


def torch_device() -> torch.device:
    """Return torch's current GPU, or the CPU where numba simulates a GPU."""
    if IS_SIMULATED:
        return torch.device("cpu")
    index = torch.cuda.current_device()
    _cuda.select_device(index)
    return torch.device("cuda", index)


def as_array(tensor: torch.Tensor) -> Any:
    """Return a contiguous tensor as an array for kernels, which shares its memory."""
    return tensor.numpy() if IS_SIMULATED else _cuda.as_cuda_array(tensor)


@lru_cache(maxsize=1)
def _kernels() -> dict[str, Any]:
    if IS_SIMULATED:
        made = make_kernels(lambda function: function, lambda table: table)
    else:
        made = make_kernels(_cuda.jit(device=True), _cuda.to_device)
    return {name: _cuda.jit(function) for name, function in made.items()}


def launch(name: str, num_games: int, *arguments: Any) -> None:
    """Start a kernel with one thread for each game, on torch's current stream; do not wait for its end."""
    if IS_SIMULATED:
        _kernels()[name][1, 4](*arguments)
        return
    num_blocks = -(-num_games // _THREADS_OF_A_BLOCK)
    stream = _cuda.external_stream(torch.cuda.current_stream().cuda_stream)
    _kernels()[name][num_blocks, _THREADS_OF_A_BLOCK, stream](*arguments)
