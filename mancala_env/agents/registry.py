"""Specs: how a text such as ``"minimax:6"`` is taken apart and becomes an agent.

>>> from mancala_env.agents import Spec
>>> spec = Spec.parse("minimax:0.1s")
>>> spec.kind, spec.budget.seconds, str(spec)
('minimax', 0.1, 'minimax:0.1s')

Nobody else takes specs apart. A kind of agent is one line of the table below; its module is imported when it
is first asked for, and its class gets the parts: a budget, a path.
"""

import difflib
import hashlib
import importlib
import math
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from os.path import isfile
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from mancala_env._util.archives import what_a_folder_is
from mancala_env._util.package_data import of_the_same_dials, rulesets_with
from mancala_env._util.tensors import SUFFIX
from mancala_env.agents.base import Agent, InvalidSpec
from mancala_env.rulesets import Ruleset, lookup
from mancala_env.search.limit import MOST_SIMULATIONS, MOST_TURNS, Budget

_SECONDS = re.compile(r"([0-9]+\.?[0-9]*|\.[0-9]+)s")


class NoTrainedNetwork(InvalidSpec):
    """A ruleset for which no trained network is shipped."""


def shipped_policy(ruleset: Ruleset) -> Path:
    """Return the file of the trained network that the package ships for a ruleset, by its dials.

    Raises:
        NoTrainedNetwork: There is none; the message says what to do.
    """
    file = of_the_same_dials("policy", ruleset)
    if file is None:
        raise NoTrainedNetwork(
            f"no trained network of {ruleset.name} is shipped; mancala train makes one of a ruleset of the "
            f"catalogue, and there are some of: {', '.join(rulesets_with('policy'))}"
        )
    return file


class _Kind(NamedTuple):
    """A kind of agent.

    Attributes:
        module: Module of this package that has it.
        builder: Name of the class, called as builder(ruleset, *parts, spec=, seed=, num_threads=).
        form: Form of the spec for people: parts in capitals, in brackets those that may be left out.
        meaning: What it is.
        parts: What follows the colon: attributes of Spec, in order.
        most: The largest number of steps of its budget; 0 where that can only be a time.
        optional: How many of the parts may be left out, the last ones first.
        can_lack_files: Whether it also plays rulesets for which no such file is shipped.
    """

    module: str
    builder: str
    form: str
    meaning: str
    parts: tuple[str, ...] = ()
    most: int = 0
    optional: int = 0
    can_lack_files: bool = False


_CHECKPOINT = "checkpoint"
"""The kind of a bare path."""
_TAKES_SHIPPED = "value+minimax takes a network that is shipped"

_KINDS = {
    "random": _Kind("scripted", "RandomAgent", "random", "each legal action equally likely"),
    "greedy": _Kind("scripted", "GreedyAgent", "greedy", "the turn with the best immediate count"),
    "minimax": _Kind(
        "minimax",
        "MinimaxAgent",
        "minimax:DEPTH",
        "alpha-beta search DEPTH turns deep (minimax:6), or for a time (minimax:0.1s)",
        ("budget",),
        MOST_TURNS,
    ),
    "mcts": _Kind(
        "mcts",
        "MctsAgent",
        "mcts:SIMULATIONS",
        "Monte-Carlo tree search of so many simulations (mcts:1000), or for a time (mcts:0.1s)",
        ("budget",),
        MOST_SIMULATIONS,
    ),
    "match+mcts": _Kind(
        "match_mcts",
        "MatchMctsAgent",
        "match+mcts:SIMULATIONS[:TABLE]",
        "mcts that plays for the match: a round is worth what it is worth for the rounds to come",
        ("budget", "table"),
        MOST_SIMULATIONS,
        optional=1,
    ),
    "trained": _Kind(
        "network",
        "CheckpointAgent",
        "trained[:CHECKPOINT]",
        "a trained network: the one shipped for the ruleset, or one of a file",
        ("checkpoint",),
        optional=1,
    ),
    "sample": _Kind(
        "network",
        "SamplingAgent",
        "sample[:CHECKPOINT]",
        "a trained network that draws its actions by their probabilities",
        ("checkpoint",),
        optional=1,
    ),
    "value+minimax": _Kind(
        "value_search",
        "ValueMinimaxAgent",
        "value+minimax:DEPTH[:NETWORK]",
        "minimax of a depth or time with a value network at the leaves: the shipped one, or one of a file",
        ("budget", "network"),
        MOST_TURNS,
        optional=1,
    ),
    "value+mcts": _Kind(
        "value_search",
        "ValueMctsAgent",
        "value+mcts:SIMULATIONS[:NETWORK]",
        "tree search of so many simulations, or for a time, guided by that value network",
        ("budget", "network"),
        MOST_SIMULATIONS,
        optional=1,
    ),
    "policy+minimax": _Kind(
        "value_search",
        "value_minimax_of_checkpoint",
        "policy+minimax:DEPTH:CHECKPOINT",
        "value+minimax with the value network of an old checkpoint",
        ("budget", "checkpoint"),
        MOST_TURNS,
    ),
    "policy+mcts": _Kind(
        "policy_mcts",
        "PolicyMctsAgent",
        "policy+mcts:SIMULATIONS[:CHECKPOINT]",
        "tree search of so many simulations, or for a time, guided by a trained network's policy and values",
        ("budget", "checkpoint"),
        MOST_SIMULATIONS,
        optional=1,
    ),
    "perfect": _Kind(
        "perfect",
        "PerfectAgent",
        "perfect[:SECONDSs[:NETWORK]]",
        "exact play by the solver (perfect), or what it proves and else searches in a time (perfect:0.5s)",
        ("budget", "network"),
        optional=2,
        can_lack_files=True,
    ),
    "perfect+traps": _Kind(
        "traps",
        "TrappingAgent",
        "perfect+traps[:SECONDSs[:NETWORK]]",
        "perfect play that, of several optimal turns, takes the one where a fallible opponent loses most",
        ("budget", "network"),
        optional=2,
        can_lack_files=True,
    ),
    "python": _Kind(
        "user",
        "agent_from_file",
        "python:FILE.py:FUNCTION",
        "what a function of your own Python file makes of a ruleset; runs the file",
        ("source", "function"),
    ),
    _CHECKPOINT: _Kind(
        "network",
        "CheckpointAgent",
        "a path to a checkpoint, such as runs/first/final.zip",
        "a trained network",
        ("checkpoint",),
    ),
}


@dataclass(frozen=True)
class Spec:
    """Who plays: a spec, taken apart once.

    Attributes:
        kind: "random", "greedy", "minimax", "mcts", "match+mcts", "perfect", "perfect+traps", "trained",
            "sample", "value+minimax", "value+mcts", "policy+minimax", "policy+mcts", "python", or
            "checkpoint" for a bare path.
        budget: How long it may search; None where the kind has none, or perfect play takes its time.
        checkpoint: Path of its checkpoint, as written; None where it takes the one that is shipped.
        source: Path of its Python file, as written.
        function: Name of the function in that file.
        network: Path of its value network, as written; None where it takes the one that is shipped.
        table: Path of its values of match states, as written; None where it takes those that are shipped.
    """

    kind: str
    budget: Budget | None = None
    checkpoint: str | None = None
    source: str | None = None
    function: str | None = None
    network: str | None = None
    table: str | None = None

    @classmethod
    def parse(cls, text: "str | Spec") -> "Spec":
        """Take a spec apart; files it names need not exist yet, and are not read.

        Raises:
            InvalidSpec: It names no agent; the message says what would be right.
        """
        if isinstance(text, Spec):
            return text
        if not isinstance(text, str):
            raise InvalidSpec(f"a spec is a text, such as 'random' or 'minimax:6', not {text!r}")
        name, colon, rest = text.partition(":")
        if name == _CHECKPOINT or name not in _KINDS:
            return cls._of_path(text)
        kind = _KINDS[name]
        if not colon and len(kind.parts) == kind.optional:
            return cls(name)
        # A path may hold colons: it is what remains.
        more = len(kind.parts) - 1
        words = rest.rsplit(":", more) if "function" in kind.parts else rest.split(":", max(more, 0))
        parts: dict[str, Any] = dict(zip(kind.parts, words))
        most = len(kind.parts)
        is_whole = colon and kind.parts and most - kind.optional <= len(words) <= most
        is_named = parts.get("function", "f").isidentifier()
        if not is_whole or not is_named or not all(parts[part] for part in parts if part != "budget"):
            raise InvalidSpec(f"spec {text!r}: the form is {kind.form}")
        if "budget" in parts:
            parts["budget"] = _budget(text, kind, parts["budget"])
        if "checkpoint" in parts:
            _refuse_folder(parts["checkpoint"])
            if parts["checkpoint"] in _KINDS and not isfile(parts["checkpoint"]):
                raise InvalidSpec(
                    f"spec {text!r}: the form is {kind.form}, and CHECKPOINT is the path of a file; "
                    + ("left out, the shipped network plays" if kind.optional else _TAKES_SHIPPED)
                )
        return cls(name, **parts)

    @classmethod
    def _of_path(cls, text: str) -> "Spec":
        path = Path(text)
        _refuse_folder(text)
        try:
            is_path = path.suffix in (".zip", SUFFIX) or path.is_file()
        except (OSError, ValueError):  # too long for a path, or with a null character
            is_path = False
        if is_path:
            return cls(_CHECKPOINT, checkpoint=text)
        names = [kind for kind in _KINDS if kind != _CHECKPOINT]
        near = difflib.get_close_matches(text.partition(":")[0], names, n=2, cutoff=0.6)
        hint = f"did you mean {' or '.join(near)}? " if near else ""
        raise InvalidSpec(f"no agent {text!r} and no such file; {hint}specs: {'; '.join(spec_forms())}")

    def __str__(self) -> str:
        """Return the spec as text; :meth:`parse` reads it back."""
        return self._text(self._named)

    @property
    def _named(self) -> tuple[str | None, ...]:
        """Paths as written; None where it names none."""
        return self.checkpoint, self.source, self.network, self.table

    def _text(self, files: Iterable[str | None]) -> str:
        name = None if self.kind == _CHECKPOINT else self.kind
        checkpoint, source, network, table = files
        parts = (name, self.budget, checkpoint, source, self.function, network, table)
        return ":".join(str(part) for part in parts if part is not None)

    @property
    def files(self) -> tuple[Path, ...]:
        """Every file it names."""
        return tuple(Path(name) for name in self._named if name is not None)

    def on(self, ruleset: Ruleset) -> "Spec":
        """Return the spec with every file named that it takes to play a ruleset: the shipped one, too.

        Raises:
            InvalidValueNetwork: None is shipped for the ruleset.
            NoTrainedNetwork: None is shipped for the ruleset.
            NoMatchValues: None are shipped for the ruleset, or it has no match.
        """
        if any(self._named):
            return self
        parts = _KINDS[self.kind].parts
        if "checkpoint" in parts:
            return replace(self, checkpoint=str(shipped_policy(ruleset)))
        if "table" in parts:
            from mancala_env.agents.match_values import shipped_values

            return replace(self, table=str(shipped_values(ruleset)))
        if "network" in parts and self.budget is not None:  # perfect play that takes its time needs none
            from mancala_env.networks.value_files import NoValueNetwork, shipped_network

            try:
                return replace(self, network=str(shipped_network(ruleset)))
            except NoValueNetwork:
                if not _KINDS[self.kind].can_lack_files:
                    raise
        return self

    @property
    def identity(self) -> str:
        """What its results are filed under: the spec, with a hash of its content for each file.

        A bare checkpoint is ``sha256:`` and 16 hexadecimal digits. So a checkpoint that was trained on is
        another entrant, and the same one under another path the same. What is shipped is hashed by
        :meth:`on` of a ruleset alone.

        Raises:
            InvalidSpec: A file cannot be read.
        """
        return self._text(None if name is None else _hash_of(name) for name in self._named)

    @property
    def ruleset(self) -> Ruleset | None:
        """The ruleset its checkpoint was trained on, or its value network grown on; None where it names none.

        Raises:
            InvalidCheckpoint: The checkpoint cannot be read.
            InvalidValueNetwork: The value network cannot be read.
            ImportError: torch is missing.
        """
        if self.network is not None:
            from mancala_env.networks.value_files import ruleset_of

            return ruleset_of(self.network)
        if self.checkpoint is None:
            return None
        from mancala_env.networks.checkpoint import read_identity

        return read_identity(self.checkpoint).ruleset

    @property
    def runs_code(self) -> bool:
        """Whether making the agent runs a Python file that the spec names."""
        return self.source is not None

    @property
    def meaning(self) -> tuple[str, str]:
        """The form of such specs, and what they make."""
        return _KINDS[self.kind].form, _KINDS[self.kind].meaning

    def with_files(self, paths: Sequence[str | Path]) -> "Spec":
        """Return the same spec with its files elsewhere, in the order of :attr:`files`."""
        names = iter(map(str, paths))
        return replace(
            self,
            checkpoint=None if self.checkpoint is None else next(names),
            source=None if self.source is None else next(names),
            network=None if self.network is None else next(names),
            table=None if self.table is None else next(names),
        )


def _budget(text: str, kind: _Kind, word: str) -> Budget:
    if kind.most and re.fullmatch(r"[0-9]{1,12}", word) and 1 <= int(word) <= kind.most:
        return Budget(int(word))
    match = _SECONDS.fullmatch(word)
    if match and 0 < float(match[1]) < math.inf:
        return Budget(kind.most, float(match[1]))
    if not kind.most:
        wanted = "the time for one position, such as 0.5s"
    else:
        name = kind.form.split(":")[1].removesuffix("[")
        wanted = f"{name}, a whole number from 1 to {kind.most}, or the time for one position, such as 0.1s"
    raise InvalidSpec(f"spec {text!r}: after the colon comes {wanted}; not {word!r}")


def _refuse_folder(path: str) -> None:
    if wrong := what_a_folder_is(path):
        raise InvalidSpec(wrong)


def _hash_of(name: str) -> str:
    try:
        with Path(name).open("rb") as file:
            return "sha256:" + hashlib.file_digest(file, "sha256").hexdigest()[:16]
    except OSError as error:
        raise InvalidSpec(f"{name} cannot be read: {error.strerror}") from error


def spec_forms() -> dict[str, str]:
    """Return the forms a spec can take and what each makes."""
    return {kind.form: kind.meaning for kind in _KINDS.values()}


def kind_named(name: str) -> tuple[str, str] | None:
    """Return the form and the meaning of a kind of agent, such as "minimax"; None where there is none."""
    kind = None if name == _CHECKPOINT else _KINDS.get(name)
    return None if kind is None else (kind.form, kind.meaning)


def entrant_of(agent: Agent) -> str:
    """Return what an agent's results are filed under: `agent.entrant`, with a hash for each file it names."""
    if agent.entrant == agent.spec:
        with suppress(InvalidSpec):  # an agent of your own is called what you like
            return Spec.parse(agent.spec).on(agent.ruleset).identity
    return agent.entrant


AgentLike: TypeAlias = str | Spec | Agent
"""What can be put in a player's seat: a spec, as text or taken apart, or an agent."""


def make(
    spec: AgentLike,
    ruleset: str | Ruleset,
    *,
    seed: int | None = None,
    num_threads: int | None = None,
) -> Agent:
    """Make an agent from a spec.

    Args:
        spec: ``"random"``, ``"greedy"``, a path to a checkpoint, ...: :func:`spec_forms` lists them. An
            Agent comes back as it is.
        ruleset: The ruleset it is to play.
        seed: Seed of everything random in it; None draws one from the system.
        num_threads: CPU threads it may use; None takes every core this process may use.

    Raises:
        InvalidSpec: No such agent, or it cannot play the ruleset; the message says what would be right.
        InvalidArgument: The seed or the number of threads is none.
        InvalidCheckpoint: A checkpoint cannot be read, or was trained on another ruleset.
        InvalidValueNetwork: A value network cannot be read, was grown on another ruleset, or none is shipped.
        NoTrainedNetwork: None is shipped for the ruleset.
        NoMatchValues: It plays for matches, of which the ruleset has none or no values are known.
        InvalidRuleset: No such ruleset.
    """
    ruleset = lookup(ruleset)
    if isinstance(spec, Agent):
        if spec.ruleset != ruleset:
            raise InvalidSpec(f"{spec.spec} plays {spec.ruleset.name}, not {ruleset.name}")
        return spec
    parsed = Spec.parse(spec)
    kind = _KINDS[parsed.kind]
    built: Callable[..., Any] = getattr(
        importlib.import_module(f"mancala_env.agents.{kind.module}"), kind.builder
    )
    parsed = parsed.on(ruleset)
    parts = (parsed.budget, parsed.checkpoint, parsed.source, parsed.function, parsed.network, parsed.table)
    agent = built(
        ruleset,
        *(part for part in parts if part is not None),
        spec=str(spec),
        seed=seed,
        num_threads=num_threads,
    )
    agent.filed_as = parsed.identity
    return agent
