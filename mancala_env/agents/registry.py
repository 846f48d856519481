"""Specs such as ``"minimax:6"``: parse them and make agents from them.

>>> from mancala_env.agents import Spec
>>> spec = Spec.parse("minimax:0.1s")
>>> spec.kind, spec.limit.seconds, str(spec)
('minimax', 0.1, 'minimax:0.1s')

Only this module parses specs. The table below has one entry for each kind of agent.
"""

import hashlib
import importlib
import re
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from os.path import isfile
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from mancala_env._util.archives import run_folder_hint
from mancala_env._util.checks import refuse_swapped
from mancala_env._util.package_data import bundled_file_for_options, rulesets_with
from mancala_env._util.tensors import SUFFIX
from mancala_env.agents.base import Agent, InvalidSpec
from mancala_env.errors import InvalidArgument, did_you_mean
from mancala_env.rulesets import Ruleset, RulesetLike, lookup, names
from mancala_env.search.limit import MOST_SIMULATIONS, MOST_TURNS, Limit

_SECONDS = re.compile(r"([0-9]+\.?[0-9]*|\.[0-9]+)s")


class NoTrainedNetwork(InvalidSpec):
    """No trained network is bundled for the ruleset."""


def bundled_policy(ruleset: Ruleset) -> Path:
    """Return the file of the bundled trained network for a ruleset, or raise NoTrainedNetwork."""
    file = bundled_file_for_options("policy", ruleset)
    if file is None:
        raise NoTrainedNetwork(
            f"no trained network is bundled for {ruleset.name}, only for: "
            f"{', '.join(rulesets_with('policy'))}; mancala train makes one"
        )
    return file


_LIMITS = {"DEPTH": MOST_TURNS, "SIMULATIONS": MOST_SIMULATIONS, "SECONDSs": 0}
"""Largest number of each limit in a form; 0: only a time."""
_PARTS = dict.fromkeys(_LIMITS, "limit") | {"FILE.py": "source"}
"""Attribute of Spec for the parts of a form whose attribute has another name."""


class _Kind(NamedTuple):
    """A kind of agent.

    `builder` is a module of this package, imported on first use, and the class in it, which is called as
    builder(ruleset, *parts, spec=, seed=, num_threads=). In `form`, optional parts are in brackets.
    """

    builder: str
    form: str
    meaning: str

    @property
    def words(self) -> list[str]:
        return [word.strip("[]") for word in self.form.split(":")[1:]]

    @property
    def parts(self) -> list[str]:
        """Attributes of Spec after the first colon, in order."""
        return [_PARTS.get(word, word.lower()) for word in self.words]

    @property
    def num_optional(self) -> int:
        return self.form.count("[")


_CHECKPOINT = "checkpoint"
"""The kind of a bare path."""
_USES_BUNDLED = "value+minimax uses a bundled network"

_KINDS = {
    "random": _Kind("scripted.RandomAgent", "random", "each legal action equally likely"),
    "greedy": _Kind("scripted.GreedyAgent", "greedy", "the turn with the best immediate count"),
    "minimax": _Kind(
        "searchers.MinimaxAgent",
        "minimax:DEPTH",
        "alpha-beta search DEPTH turns deep (minimax:6), or for a time (minimax:0.1s)",
    ),
    "mcts": _Kind(
        "searchers.MctsAgent",
        "mcts:SIMULATIONS",
        "Monte-Carlo tree search with a number of simulations (mcts:1000) or a time (mcts:0.1s)",
    ),
    "match+mcts": _Kind(
        "match.MatchMctsAgent",
        "match+mcts:SIMULATIONS[:TABLE]",
        "mcts that plays for the match: the result of a round is its value for the match",
    ),
    "trained": _Kind(
        "network.CheckpointAgent",
        "trained[:CHECKPOINT]",
        "a trained network: the bundled one of the ruleset, or one from a file",
    ),
    "sample": _Kind(
        "network.SamplingAgent",
        "sample[:CHECKPOINT]",
        "a trained network that samples its actions by their probabilities",
    ),
    "value+minimax": _Kind(
        "searchers.ValueMinimaxAgent",
        "value+minimax:DEPTH[:NETWORK]",
        "minimax to a depth or for a time, with a value network at the leaves: bundled, or from a file",
    ),
    "value+mcts": _Kind(
        "searchers.ValueMctsAgent",
        "value+mcts:SIMULATIONS[:NETWORK]",
        "tree search with a number of simulations or a time, guided by that value network",
    ),
    "policy+minimax": _Kind(
        "searchers.CheckpointMinimaxAgent",
        "policy+minimax:DEPTH:CHECKPOINT",
        "value+minimax with the value network of an old checkpoint",
    ),
    "policy+mcts": _Kind(
        "network.PolicyMctsAgent",
        "policy+mcts:SIMULATIONS[:CHECKPOINT]",
        "tree search with a number of simulations or a time, guided by a trained network",
    ),
    "perfect": _Kind(
        "perfect.PerfectAgent",
        "perfect[:SECONDSs[:NETWORK]]",
        "exact play by the solver (perfect), or what it proves or finds in a time (perfect:0.5s)",
    ),
    "perfect+traps": _Kind(
        "perfect.TrappingAgent",
        "perfect+traps[:SECONDSs[:NETWORK]]",
        "perfect play that takes the optimal turn after which a fallible opponent loses most",
    ),
    "python": _Kind(
        "user.agent_from_file",
        "python:FILE.py:FUNCTION",
        "an agent that a function in your Python file makes for the ruleset; runs the file",
    ),
    _CHECKPOINT: _Kind(
        "network.CheckpointAgent", "a path to a checkpoint, such as runs/first/final.zip", "a trained network"
    ),
}
_FILES = ("checkpoint", "source", "network", "table")
"""Attributes of Spec that are paths."""


@dataclass(frozen=True)
class Spec:
    """A parsed spec.

    Attributes:
        kind: First word of the spec, such as "minimax", or "checkpoint" for a bare path.
        limit: Limit of the search; None for agents without a search, and for perfect play without a time.
        checkpoint: Path of the checkpoint, as written in the spec; None: the bundled checkpoint.
        source: Path of the Python file, as written in the spec.
        function: Name of the function in that file.
        network: Path of the value network, as written in the spec; None: the bundled network.
        table: Path of the match values, as written in the spec; None: the bundled match values.

    Raises:
        InvalidSpec: The kind is unknown, or has other parts.
    """

    kind: str
    limit: Limit | None = None
    checkpoint: str | None = None
    source: str | None = None
    function: str | None = None
    network: str | None = None
    table: str | None = None

    def __post_init__(self) -> None:
        """Check that the kind has these parts."""
        kind = _KINDS.get(self.kind) if isinstance(self.kind, str) else None
        if kind is None:
            raise InvalidSpec(f"unknown agent {self.kind!r}{did_you_mean(self.kind, _KINDS)}")
        form = ["checkpoint"] if self.kind == _CHECKPOINT else kind.parts
        given = [each.name for each in fields(self)[1:] if getattr(self, each.name) is not None]
        is_complete = len(given) >= len(form) - kind.num_optional
        if not is_complete or set(given) != set(form[: len(given)]):
            raise InvalidSpec(
                f"Spec({self.kind!r}) with {', '.join(given) or 'nothing'} fits no agent; "
                f"the form is {kind.form}"
            )

    @classmethod
    def parse(cls, text: "str | Spec") -> "Spec":
        """Parse a spec. Its files are not read and need not exist yet.

        Raises:
            InvalidSpec: The spec is invalid.
        """
        if isinstance(text, Spec):
            return text
        if not isinstance(text, str):
            raise InvalidSpec(f"a spec is a text, such as 'minimax:6', not {text!r}{maker_hint(text)}")
        name, colon, rest = text.partition(":")
        if name == _CHECKPOINT or name not in _KINDS:
            return cls._of_path(text)
        kind = _KINDS[name]
        num_parts = len(kind.parts)
        if not colon and num_parts == kind.num_optional:
            return cls(name)
        # A path may contain colons: the rest is the path.
        split = rest.rsplit if "function" in kind.parts else rest.split
        words = split(":", max(num_parts - 1, 0))
        parts: dict[str, Any] = dict(zip(kind.parts, words))
        is_complete = colon and num_parts - kind.num_optional <= len(words) <= num_parts
        is_named = parts.get("function", "f").isidentifier()
        if not is_complete or not is_named or not all(parts[part] for part in parts if part != "limit"):
            raise InvalidSpec(f"spec {text!r}: the form is {kind.form}")
        if "limit" in parts:
            parts["limit"] = _limit(text, kind, parts["limit"])
        if "checkpoint" in parts:
            _refuse_folder(parts["checkpoint"])
            if parts["checkpoint"] in _KINDS and not isfile(parts["checkpoint"]):
                bundled = "without it, the bundled network plays" if kind.num_optional else _USES_BUNDLED
                raise InvalidSpec(
                    f"spec {text!r}: the form is {kind.form}, and CHECKPOINT is the path of a file; {bundled}"
                )
        return cls(name, **parts)

    @classmethod
    def _of_path(cls, text: str) -> "Spec":
        path = Path(text)
        _refuse_folder(text)
        try:
            is_path = path.suffix in (".zip", SUFFIX) or path.is_file()
        except (OSError, ValueError):  # an invalid path: too long, or with a null character
            is_path = False
        if is_path:
            return cls(_CHECKPOINT, checkpoint=text)
        if text in names():
            raise InvalidSpec(f"{text!r} is a ruleset, not an agent; in a command, write --ruleset {text}")
        kinds = [kind for kind in _KINDS if kind != _CHECKPOINT]
        hint = did_you_mean(text.partition(":")[0], kinds)
        raise InvalidSpec(f"unknown agent, or missing file: {text!r}{hint}; specs: {'; '.join(spec_forms())}")

    def __str__(self) -> str:
        """Return the spec as text; :meth:`parse` reads it back."""
        name = () if self.kind == _CHECKPOINT else (self.kind,)
        return ":".join(map(str, (*name, *self._parts)))

    @property
    def _parts(self) -> list[Any]:
        """Its limit, files and function, in order."""
        parts = (getattr(self, each.name) for each in fields(self) if each.name != "kind")
        return [part for part in parts if part is not None]

    @property
    def _paths(self) -> dict[str, str]:
        """Paths as written, by attribute."""
        return {name: path for name in _FILES if (path := getattr(self, name)) is not None}

    @property
    def files(self) -> tuple[Path, ...]:
        """Files named in the spec."""
        return tuple(map(Path, self._paths.values()))

    def on(self, ruleset: Ruleset) -> "Spec":
        """Return the spec with the paths of all files that it needs for a ruleset, including bundled ones.

        Raises:
            MancalaError: A file that it needs is not bundled for the ruleset; see :func:`make`.
        """
        parts = _KINDS[self.kind].parts
        if self._paths:
            return self
        if "checkpoint" in parts:
            return replace(self, checkpoint=str(bundled_policy(ruleset)))
        if "table" in parts:
            from mancala_env.agents.match import bundled_values

            return replace(self, table=str(bundled_values(ruleset)))
        if "network" in parts and self.limit is not None:  # perfect play without a time needs none
            from mancala_env.networks.value_files import NoValueNetwork, bundled_network

            try:
                return replace(self, network=str(bundled_network(ruleset)))
            except NoValueNetwork:
                if not self.kind.startswith("perfect"):  # perfect play then searches without one
                    raise
        return self

    @property
    def identity(self) -> str:
        """Key of the agent's results: the spec, with a hash of the file's content for each path.

        The hash is ``sha256:`` and 16 hexadecimal digits. So a checkpoint is another agent after more
        training, but not under another path. Bundled files are hashed only after :meth:`on`.

        Raises:
            InvalidSpec: A file cannot be read.
        """
        return str(replace(self, **{name: _hash_of(path) for name, path in self._paths.items()}))

    @property
    def ruleset(self) -> Ruleset | None:
        """Ruleset of the spec's checkpoint or value network; None without either.

        Raises:
            MancalaError: The file cannot be read.
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
        """Whether making the agent runs a Python file."""
        return self.source is not None

    @property
    def meaning(self) -> tuple[str, str]:
        """Form and description of specs of this kind."""
        return _KINDS[self.kind].form, _KINDS[self.kind].meaning

    def with_files(self, paths: Sequence[str | Path]) -> "Spec":
        """Return the same spec with other paths, in the order of :attr:`files`."""
        return replace(self, **dict(zip(self._paths, map(str, paths), strict=True)))


def _limit(text: str, kind: _Kind, word: str) -> Limit:
    """Read a limit such as 6, 0.1s, 5000nodes, or 6+0.1s."""
    name = kind.words[0]
    most, parts, given = _LIMITS[name], word.split("+"), {}
    for part in parts:
        if most and re.fullmatch(r"[0-9]{1,12}", part):
            given[name.lower()] = int(part)
        elif name == "DEPTH" and re.fullmatch(r"[0-9]{1,12}nodes", part):
            given["nodes"] = int(part.removesuffix("nodes"))
        elif match := _SECONDS.fullmatch(part):
            given["seconds"] = float(match[1])
    with suppress(InvalidArgument):
        if len(given) == len(parts):
            return Limit(**given)
    nodes = "a number of turns such as 5000nodes, " if name == "DEPTH" else ""
    number = f"{name}, a whole number from 1 to {most}, {nodes}or " if most else ""
    raise InvalidSpec(
        f"spec {text!r}: expected {number}the time for one position, such as 0.5s, after the colon, "
        f"not {word!r}"
    )


def _refuse_folder(path: str) -> None:
    if wrong := run_folder_hint(path):
        raise InvalidSpec(wrong)


def maker_hint(value: Any) -> str:
    """Return the part of a message that names the function that makes an agent of a value, or ""."""
    torch = sys.modules.get("torch")
    if isinstance(value, type):
        return "; give an instance, not the class"
    if hasattr(value, "predict") or (torch is not None and isinstance(value, torch.nn.Module)):
        return "; agents.from_policy(model, ruleset) makes an agent of a model"
    if callable(value):
        return "; agents.from_function(function, ruleset) makes an agent of a function"
    return ""


def _hash_of(name: str) -> str:
    try:
        with Path(name).open("rb") as file:
            return "sha256:" + hashlib.file_digest(file, "sha256").hexdigest()[:16]
    except OSError as error:
        raise InvalidSpec(f"{name} cannot be read: {error.strerror}") from error


def spec_forms() -> dict[str, str]:
    """Return the forms of specs and their descriptions."""
    return {kind.form: kind.meaning for kind in _KINDS.values()}


def kind_named(name: str) -> tuple[str, str] | None:
    """Return the form and the description of a kind of agent such as "minimax"; None if it is unknown."""
    kind = None if name == _CHECKPOINT else _KINDS.get(name)
    return None if kind is None else (kind.form, kind.meaning)


def entrant_of(agent: Agent) -> str:
    """Return the key of an agent's results: `agent.entrant`, with each path replaced by the file's hash."""
    if agent.entrant == agent.spec:
        with suppress(InvalidSpec):  # your own agent may have any name
            return Spec.parse(agent.spec).on(agent.ruleset).identity
    return agent.entrant


AgentLike: TypeAlias = str | Spec | Agent
"""An agent, or a spec, as text or parsed."""


def make(
    spec: AgentLike, ruleset: RulesetLike, *, seed: int | None = None, num_threads: int | None = None
) -> Agent:
    """Make an agent from a spec.

    Args:
        spec: ``"random"``, ``"greedy"``, a path to a checkpoint, ...; see :func:`spec_forms`. An Agent is
            returned unchanged.
        ruleset: Ruleset name, or a ruleset.
        seed: Random seed; None: from the operating system.
        num_threads: CPU threads; None: all cores of this process.

    Raises:
        InvalidSpec: The spec is invalid, or the agent cannot play the ruleset.
        InvalidArgument: The seed or the number of threads is invalid.
        InvalidCheckpoint: The checkpoint cannot be read, or is of another ruleset.
        InvalidValueNetwork: The value network cannot be read, is of another ruleset, or is not bundled.
        NoTrainedNetwork, NoMatchValues: None are bundled for the ruleset.
        InvalidRuleset: The ruleset is unknown.
    """
    refuse_swapped("agents.make(spec, ruleset)", ruleset, spec)
    ruleset = lookup(ruleset)
    if isinstance(spec, Agent):
        if spec.ruleset != ruleset:
            raise InvalidSpec(f"{spec.spec} plays {spec.ruleset.name}, not {ruleset.name}")
        return spec
    parsed = Spec.parse(spec)
    module, _, builder = _KINDS[parsed.kind].builder.partition(".")
    built: Callable[..., Any] = getattr(importlib.import_module(f"mancala_env.agents.{module}"), builder)
    parsed = parsed.on(ruleset)
    agent = built(ruleset, *parsed._parts, spec=str(spec), seed=seed, num_threads=num_threads)
    agent.filed_as = parsed.identity
    agent.is_from_spec = agent.is_identified = True
    return agent
