"""Export a checkpoint's network for programs without Python or torch.

mancala export runs/first/final.zip --onnx first.onnx
mancala export runs/first/final.zip --safetensors first.safetensors
mancala export trained --ruleset leyla --onnx leyla.onnx

ONNX runs in browsers, in C++ and on phones. Its inputs are `observation`, of the checkpoint's observation
kind, and `legal`, bool [B, A]. Its outputs are `logits` [B, A] and `values` [B]. A safetensors file holds the
weights, and mancala-env plays it like a checkpoint. Both contain the checkpoint's identity.
"""

import logging
import warnings
from pathlib import Path

import torch
from torch import Tensor, nn

from mancala_env._util.command_line import Parser, check_out, in_one_line, needing
from mancala_env._util.files import write_whole
from mancala_env._util.package_data import rulesets_with
from mancala_env._util.tensors import SUFFIX
from mancala_env.agents.registry import bundled_policy
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
    """Return the network of a checkpoint as an ONNX model for any batch size B.

    Raises:
        InvalidCheckpoint: The file is not a checkpoint.
        ImportError: The extra "onnx" is not installed.
    """
    identity = read_identity(checkpoint)
    network = load_network(checkpoint, identity)
    with needing("an ONNX model", "onnx"):
        import onnx
        import onnxscript  # noqa: F401  (torch needs it later, with a less helpful error)
    model = (_EveryAction(network) if isinstance(network, ActionNetwork) else network).eval()
    num_actions = identity.ruleset.num_actions(identity.rounds)
    observer = Observer(identity.ruleset, identity.network.observation, num_actions)
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
            program = torch.onnx.export(
                model,
                example,
                input_names=["observation", "legal"],
                output_names=["logits", "values"],
                dynamic_shapes=({0: games}, {0: games}),
                opset_version=_OPSET,
                dynamo=True,
                verbose=False,
            )
    finally:
        talk.setLevel(level)
    assert program is not None
    found = program.model_proto
    onnx.checker.check_model(found)
    for name, text in texts_of(identity).items():
        found.metadata_props.add(key=name, value=text)
    return found.SerializeToString()


def _checkpoint_of(text: str, ruleset: str | None) -> Path:
    """Return the named file, or the bundled one of a ruleset."""
    if text == _SHIPPED:
        if ruleset is None:
            names = ", ".join(rulesets_with("policy"))
            raise MancalaError(f"--ruleset must name one of the rulesets with a bundled network: {names}")
        return bundled_policy(lookup(ruleset))
    if ruleset is not None:
        raise MancalaError(f"--ruleset is for {_SHIPPED}, the bundled network; {text!r} has a ruleset")
    return Path(text)


def make_parser(program: str) -> Parser:
    """Return the parser of the command."""
    parser = Parser(prog=program, description=__doc__)
    parser.add_argument(
        "checkpoint",
        help=f"checkpoint, such as runs/first/final.zip, or {_SHIPPED} for the bundled network",
    )
    parser.add_argument("--ruleset", help=f"name of the ruleset of the bundled network; only with {_SHIPPED}")
    parser.add_argument("--onnx", type=Path, metavar="FILE", help="ONNX model to write, .onnx")
    parser.add_argument("--safetensors", type=Path, metavar="FILE", help=f"weights to write, {SUFFIX}")
    return parser


@in_one_line("mancala export")
def main(arguments: list[str] | None = None, program: str = "mancala export") -> int:
    """Run the command; return the exit status."""
    options = make_parser(program).parse_args(arguments)
    if options.onnx is None and options.safetensors is None:
        raise MancalaError("name a file to write: --onnx FILE, --safetensors FILE, or both")
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
            write_whole(path, content)
        except OSError as error:
            raise MancalaError(f"cannot write {path}: {error.strerror or error}") from error
        print(f"Written: {path}, {len(content):,} bytes")
    return 0
