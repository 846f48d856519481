"""Export a checkpoint's network for programs without Python or torch.

mancala export runs/first/final.zip --onnx first.onnx
mancala export runs/first/final.zip --safetensors first.safetensors
mancala export trained --ruleset leyla --onnx leyla.onnx

ONNX runs in browsers, in C++ and on phones. Its inputs are `observation`, of the checkpoint's observation
kind, and `legal`, bool [B, A]. Its outputs are `logits` [B, A] and `values` [B]. A safetensors file holds the
weights, and mancala-env plays it like a checkpoint. Both contain the checkpoint's identity.
"""

import logging
import sys
import warnings
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from mancala_env._util.command_line import Parser, check_out, in_one_line, needing
from mancala_env._util.files import written_whole
from mancala_env._util.package_data import rulesets_with
from mancala_env._util.tensors import SUFFIX
from mancala_env.agents.registry import shipped_policy
from mancala_env.errors import MancalaError
from mancala_env.networks.checkpoint import as_tensors, load_network, read_identity, texts_of
from mancala_env.networks.policy import ActionNetwork
from mancala_env.observations import Observer
from mancala_env.rulesets import lookup

_SHIPPED = "trained"
_OPSET = 18
# Two games, so that the exporter does not treat B as constant.
_GAMES = 2


class _EveryAction(nn.Module):
    """An ActionNetwork with shapes that do not depend on the data."""

    def __init__(self, network: ActionNetwork) -> None:
        super().__init__()
        self.network = network

    def forward(self, observation: Tensor, legal: Tensor) -> tuple[Tensor, Tensor]:
        return self.network.forward_of_every_action(observation, legal)


def to_safetensors(checkpoint: str | Path) -> bytes:
    """Return the network of a checkpoint as a safetensors file.

    Raises:
        InvalidCheckpoint: The file is not a checkpoint.
    """
    identity = read_identity(checkpoint)
    return as_tensors(identity, load_network(checkpoint, identity))


def to_onnx(checkpoint: str | Path) -> bytes:
    """Return the network of a checkpoint as an ONNX model; B is free.

    Raises:
        InvalidCheckpoint: The file is not a checkpoint.
        ImportError: The extra "onnx" is not installed.
    """
    identity = read_identity(checkpoint)
    network = load_network(checkpoint, identity)
    with needing("an ONNX model", "onnx"):
        import onnx
        import onnxscript  # noqa: F401  (torch asks for it later, and says less)
    model = (_EveryAction(network) if isinstance(network, ActionNetwork) else network).eval()
    ruleset = identity.ruleset
    num_actions = ruleset.num_actions(identity.rounds)
    observer = Observer(ruleset, identity.network.observation, num_actions)
    example = (
        torch.from_numpy(observer.empty(_GAMES)),
        torch.ones(_GAMES, num_actions, dtype=torch.bool, device="cpu"),
    )
    games = torch.export.Dim("B")
    talk = logging.getLogger("torch.onnx._internal.exporter._registration")
    level = talk.level
    talk.setLevel(logging.ERROR)  # it warns that torchvision is not installed, which is not needed
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # warnings of torch about itself
            program = _exported(model, example, games)
    finally:
        talk.setLevel(level)
    assert program is not None
    found = program.model_proto
    onnx.checker.check_model(found)
    for name, text in texts_of(identity).items():
        found.metadata_props.add(key=name, value=text)
    return found.SerializeToString()


def _exported(model: nn.Module, example: tuple[Tensor, ...], games: Any) -> "torch.onnx.ONNXProgram | None":
    return torch.onnx.export(
        model,
        example,
        input_names=["observation", "legal"],
        output_names=["logits", "values"],
        dynamic_shapes=({0: games}, {0: games}),
        opset_version=_OPSET,
        dynamo=True,
        verbose=False,
    )


def _checkpoint_of(text: str, ruleset: str | None) -> Path:
    """Return the named file, or the bundled one of a ruleset.

    Raises:
        MancalaError: A ruleset is missing, unknown, without a network, or given together with a file.
    """
    if text == _SHIPPED:
        if ruleset is None:
            raise MancalaError(
                f"say with --ruleset which of the shipped networks: {', '.join(rulesets_with('policy'))}"
            )
        return shipped_policy(lookup(ruleset))
    if ruleset is not None:
        raise MancalaError(
            f"--ruleset is for {_SHIPPED}, the shipped network; {text!r} is a path, and a checkpoint "
            "knows its own game"
        )
    return Path(text)


@in_one_line("mancala export")
def main(arguments: list[str] | None = None, program: str = "mancala export") -> int:
    """Run the command; return the exit status."""
    parser = Parser(prog=program, description=__doc__)
    parser.add_argument(
        "checkpoint", help=f"a checkpoint, such as runs/first/final.zip, or {_SHIPPED}: the shipped network"
    )
    parser.add_argument("--ruleset", help=f"of which game the shipped network is, for {_SHIPPED}")
    parser.add_argument("--onnx", type=Path, metavar="FILE", help="write an ONNX model, .onnx")
    parser.add_argument("--safetensors", type=Path, metavar="FILE", help=f"write the weights, {SUFFIX}")
    options = parser.parse_args(arguments)
    if options.onnx is None and options.safetensors is None:
        raise MancalaError("say what to write: --onnx FILE, --safetensors FILE, or both")
    checkpoint = _checkpoint_of(options.checkpoint, options.ruleset)
    # Check first, so that an error comes early and the checkpoint is not overwritten.
    for path, suffix, option, read in (
        (options.safetensors, SUFFIX, "--safetensors", read_identity),
        (options.onnx, ".onnx", "--onnx", None),
    ):
        if path is not None:
            check_out(path, suffix, option, read)
    exports = ((options.safetensors, to_safetensors), (options.onnx, to_onnx))
    contents = {path: export(checkpoint) for path, export in exports if path is not None}
    for path, content in contents.items():
        try:
            with written_whole(path) as file:
                file.write(content)
        except OSError as error:
            raise MancalaError(f"cannot write {path}: {error.strerror or error}") from error
        print(f"Written: {path}, {len(content):,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
