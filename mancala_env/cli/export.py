"""`mancala export`: write a checkpoint's network as ONNX or safetensors.

:mod:`mancala_env.networks.export` parses the arguments.
"""

from collections.abc import Sequence

from mancala_env._util.command_line import needing

HELP = "write a checkpoint's network as ONNX or safetensors"


def run(words: Sequence[str]) -> int:
    """Export the network and return the exit status.

    Raises:
        ImportError: If the extra "train" or "onnx" is not installed.
    """
    with needing("exporting a network", "train"):
        from mancala_env.networks import export
    return export.main(list(words), program="mancala export")
