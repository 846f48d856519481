"""What an evaluation needs for a ruleset that is not in the catalogue: solved positions and a ladder."""

from collections.abc import Callable

from mancala_env.evaluation.ladder import prepare_ladder
from mancala_env.rulesets import RulesetLike
from mancala_env.solver import NoPositions, prepare_positions


def prepare(ruleset: RulesetLike, say: Callable[[str], object] = print, *, ladder: bool = True) -> None:
    """Solve positions and play a ladder for a ruleset, unless it has them; about a minute on a small board.

    Both are kept in the user's cache folder. :func:`evaluate` then measures regret and Elo. The commands
    ``mancala evaluate`` and ``benchmark`` call this function, and ``mancala train`` does without a ladder.

    >>> prepare("leyla")  # does nothing: both are bundled

    Args:
        ruleset: What :func:`mancala_env.rulesets.lookup` accepts.
        say: Called with messages about the progress.
        ladder: Whether to play a ladder.

    Raises:
        InvalidRuleset: The ruleset is invalid.
        OSError: A file cannot be written.
    """
    try:
        prepare_positions(ruleset, say)
    except NoPositions as error:
        say(f"regret is not measured: {error}")
    if ladder:
        prepare_ladder(ruleset, say)
