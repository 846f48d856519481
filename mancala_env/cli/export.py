"""`mancala export`: a checkpoint's network as ONNX or safetensors.

Its words go to :mod:`mancala_env.networks.export` as they are.
"""

from collections.abc import Sequence

from mancala_env._util.command_line import needing

HELP = "write a checkpoint's network as ONNX or safetensors"


def run(words: Sequence[str]) -> int:
    """Export; returns the exit status.

    Raises:
        ImportError: The extra "train", or "onnx", is not installed.
    """
    with needing("exporting a network", "train"):
        from mancala_env.networks import export
    return export.main(list(words), program="mancala export")
