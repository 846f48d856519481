"""Bundle trained policy networks: write the weights of a checkpoint, and a card that describes them.

``python -m tools.make_policy_cards runs/leyla/final.zip`` writes ``policy_leyla.safetensors`` and
``policy_leyla.md`` to the package's data. The agent `trained` uses these networks.
"""

import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from mancala_env._util.command_line import Parser, in_one_line
from mancala_env._util.files import write_whole
from mancala_env._util.package_data import bundled_file
from mancala_env.evaluation.matches import MatchResult, play_matches
from mancala_env.networks.checkpoint import Identity, as_tensors, load_network, read_identity
from mancala_env.rulesets import names
from mancala_env.training.config import TrainConfig
from mancala_env.training.reproduce import made_by
from tools.make_value_cards import GAMES, SEED, Card, exploitabilities, few_of, rating, regrets

_OPPONENTS = ("greedy", "minimax:4", "minimax:6", "value+minimax:4", "mcts:1000")
_SLOW = ("mcts:1000",)
_LIMITS = """\
- It plays single rounds and sees no further than its observation. The observations `lines`, `leaves` and
  `values` hold four turns of lookahead by the engine. Alone, the first two would let it play like
  `minimax:4`, and `values` like `value+minimax:4`.
- It was trained once, from one seed; a second seed had a similar result (docs/results/bundled_agents.md).
- It may evaluate positions badly that no sensible play reaches."""


def policy_card(path: Path, games: int = GAMES, seed: int = SEED) -> str:
    """Measure a policy network's strength and return its card as Markdown.

    Args:
        path: File of the network.
        games: Number of games per match; even. Against slow agents and each anchor 20 % of that are played.
        seed: Random seed of openings and agents.

    Raises:
        InvalidCheckpoint: If the file is not a policy network.
        InvalidMatch: If `games` is out of range.
    """
    identity = read_identity(path)
    ruleset, network, few = identity.ruleset, identity.network, few_of(games)
    way, how = made_by(identity)
    card = Card(
        path,
        ruleset,
        title=f"A trained network for `{ruleset.name}` ({ruleset.title}), for the agent `trained`.",
        origin=[
            [way, f"`{how}`"],
            ["version", identity.versions.get("mancala-env", "unknown")],
            ["environment steps", f"{identity.environment_steps:,}"],
            ["seeds", f"one ({identity.config.get('seed')})"],
            ["sees", f"`{network.observation}`; {network.layers} hidden layers of {network.hidden}"],
        ],
        matches=_matches(path, identity, games, few, seed),
        rating=rating(f"trained:{path}", ruleset, few, seed),
        regret=regrets([("minimax:6", f"trained:{path}")], ruleset, seed),
        exploitability=exploitabilities([f"trained:{path}"], ruleset),
        limits=_LIMITS,
        command=f"python -m tools.make_policy_cards CHECKPOINT --games {games} --seed {seed}",
        seed=seed,
    )
    return card.to_markdown()


def _matches(path: Path, identity: Identity, games: int, few: int, seed: int) -> Iterable[MatchResult]:
    for opponent in _OPPONENTS:
        yield play_matches(
            f"trained:{path}",
            opponent,
            identity.ruleset,
            games=few if opponent in _SLOW else games,
            seed=seed,
            num_threads=1,
        )


def _bundled(checkpoint: Path) -> bytes:
    """Return the network of a checkpoint as a safetensors file without the folder of the training run."""
    identity = read_identity(checkpoint)
    config = identity.config | {"folder": TrainConfig().folder}
    return as_tensors(replace(identity, config=config), load_network(checkpoint, identity))


@in_one_line("make_policy_cards", "finished networks and cards are kept")
def main(arguments: Sequence[str] | None = None) -> int:
    """Bundle the given checkpoints and return the exit status."""
    parser = Parser(prog="python -m tools.make_policy_cards", description=__doc__)
    parser.add_argument(
        "checkpoints", nargs="+", type=Path, metavar="CHECKPOINT", help="checkpoint of a catalogue ruleset"
    )
    parser.add_argument("--games", type=int, default=GAMES, help=f"games per match; default {GAMES}")
    parser.add_argument(
        "--seed", type=int, default=SEED, help=f"random seed of openings and agents; default {SEED}"
    )
    parser.add_argument("--folder", type=Path, help="folder to write to; the package's data by default")
    options = parser.parse_args(arguments)
    if options.folder is not None and not options.folder.is_dir():
        parser.error(f"--folder must be an existing folder, not {options.folder}")
    checkpoint_of: dict[str, Path] = {}  # check all before the hours of measurements
    for checkpoint in options.checkpoints:
        name = read_identity(checkpoint).ruleset.name
        if name not in names():
            known = ", ".join(names())
            parser.error(f"{checkpoint} plays {name!r}, which is not in the catalogue: {known}")
        if name in checkpoint_of:
            parser.error(f"{checkpoint_of[name]} and {checkpoint} both play {name}; give one per ruleset")
        checkpoint_of[name] = checkpoint
    for name, checkpoint in checkpoint_of.items():
        path = bundled_file("policy", name)
        path = path if options.folder is None else options.folder / path.name
        with TemporaryDirectory() as folder:
            new = Path(folder, path.name)
            new.write_bytes(_bundled(checkpoint))
            written = policy_card(new, options.games, options.seed)
            write_whole(path, new.read_bytes())
        write_whole(path.with_suffix(".md"), written)
        print(path.with_suffix(".md"), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
