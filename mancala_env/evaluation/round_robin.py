"""Round robins of matches that can resume: each finished chunk of games is a line of a results file.

A line contains the identity of the match (:class:`MatchKey`), its openings `start` to `stop` and the margins.
The openings of a match are numbered and determined by the seed. So a killed run resumes with exactly the
missing openings, and a later run with more games plays only the additional openings.
"""

import hashlib
import itertools
import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Unpack

import numpy as np

from mancala_env import agents
from mancala_env._util.checks import is_whole, several, whole
from mancala_env.agents import Agent, AgentLike
from mancala_env.agents.registry import entrant_of
from mancala_env.engine.episode import MAX_ROUNDS, encode_rounds
from mancala_env.evaluation.match_options import RoundRobinKeywords, RoundRobinOptions, ignored
from mancala_env.evaluation.matches import MatchResult, MatchResults, num_pairs, play_openings, which_openings
from mancala_env.evaluation.openings import (
    BUNDLED,
    OPENINGS,
    InvalidMatch,
    Openings,
    openings,
    openings_hash,
    openings_to_evaluate,
)
from mancala_env.evaluation.results_file import LinesFile
from mancala_env.games.records import GameRecord, check_appendable, write_games
from mancala_env.rulesets import Ruleset, RulesetLike, lookup
from mancala_env.version import __version__

FORMAT = 1
# Format of lines with a set of openings. Older versions would read them as games from all openings.
SET_FORMAT = 2
# 64 games: enough for agents that act in batches, and only seconds for the slowest anchor of the ladder.
PAIRS_PER_CHUNK = 32


class Entrant(NamedTuple):
    """An agent in a round robin. `identity`, for results files, is the spec with the hash of each file."""

    agent: Agent
    name: str
    identity: str


def entrant(spec: AgentLike, ruleset: RulesetLike, num_threads: int | None = None) -> Entrant:
    """Make an agent from a spec, and determine its identity."""
    agent = agents.make(spec, ruleset, num_threads=num_threads)
    return Entrant(agent, agent.spec, entrant_of(agent))


def round_robin(
    specs: Sequence[AgentLike], ruleset: RulesetLike, **options: Unpack[RoundRobinKeywords]
) -> MatchResults:
    """Play a match between each pair of several agents.

    >>> matches = round_robin(["random", "greedy"], "leyla", games=20)
    >>> [(match.first, match.second, match.games) for match in matches]
    [('random', 'greedy', 20)]

    Args:
        specs: Two or more agents, or their specs.
        ruleset: The ruleset, or its name.
        options: Attributes of :class:`~mancala_env.evaluation.match_options.RoundRobinOptions`.

    Returns:
        One result for each pair of agents, in the order of `specs`: a list with `to_frame()`.

    Raises:
        InvalidMatch: If there are fewer than two agents, an agent is a duplicate, or an argument is out of
            range.
        InvalidArgument: If the seed is invalid.
        InvalidSpec: If a spec is invalid, or an agent cannot play the ruleset.
        InvalidResults: If `results` is not a results file, or another process is writing it.
        InvalidRecord: If `records` exists and does not contain game records.
        OSError: If `records` cannot be written.
    """
    chosen, given = RoundRobinOptions(**options), several("specs", specs, "a list of agents")
    entrants = [entrant(spec, ruleset, chosen.num_threads) for spec in given]
    if len(entrants) < 2:
        raise InvalidMatch(f"specs must name at least two agents, not {len(entrants)}")
    check_distinct(entrants)
    return play_pairings(list(itertools.combinations(entrants, 2)), ruleset, chosen)


def check_distinct(entrants: Sequence[Entrant]) -> None:
    """Raise InvalidMatch if two entrants are the same agent or have the same name."""
    seen: dict[str, Entrant] = {}
    for one in entrants:
        other = seen.setdefault(one.identity, one)
        if other is not one:
            hint = ""
            if one.agent is not other.agent and not one.agent.is_from_spec:
                hint = "; if they differ, give each a name=, as in from_function(..., name='second')"
            raise InvalidMatch(f"{one.name} and {other.name} are the same agent; name it once{hint}")
        if any(one.name == other.name for other in seen.values() if other is not one):
            raise InvalidMatch(
                f"two different agents are named {one.name}; give one another name, as in "
                "from_policy(..., name='second')"
            )


def play_pairings(
    pairings: Sequence[tuple[Entrant, Entrant]],
    ruleset: RulesetLike,
    options: RoundRobinOptions,
    on_record_error: Callable[[OSError], Any] | None = None,
    on_failure: Callable[[list[MatchResult]], Any] | None = None,
) -> MatchResults:
    """Play a match for each pairing; see :func:`round_robin` and :func:`play_here`.

    If an exception ends the games, `on_failure` is called with the results of the finished games, if any.
    """
    ruleset, seed = lookup(ruleset), whole("seed", options.seed, 0)
    pairs = num_pairs(options.games)
    rounds = MAX_ROUNDS if options.rounds == "match" else encode_rounds(options.rounds)
    play_chunks = options.play_chunks or play_here
    for one in itertools.chain(*pairings):
        one.agent.check_rounds(options.rounds)  # before the games of other pairings
        if options.results is not None and not one.agent.is_identified:
            raise InvalidMatch(
                f"results={str(options.results)!r} cannot store results of {one.name}, which has a default "
                "name; give it a name that changes with it, such as name='first-1'"
            )
    if options.records is not None:
        if options.results is not None and Path(options.results).resolve() == Path(options.records).resolve():
            raise InvalidMatch(f"results and records must be two files, not both {str(options.records)!r}")
        if options.play_chunks is not None:
            raise InvalidMatch(
                f"records={str(options.records)!r} cannot be used with play_chunks, which records nothing"
            )
        check_appendable(options.records)  # before the games rather than after the first chunk
        GameRecord(ruleset, rounds=options.rounds)  # raises if a record cannot hold the ruleset's texts
        play_chunks = partial(play_here, records=options.records, on_record_error=on_record_error)
    opening_set, turns = openings_to_evaluate(options.opening_set, ruleset, options.opening_turns)
    rules, set_hash = rules_hash(ruleset), openings_hash(ruleset, opening_set)
    terms = (__version__, ruleset.name, rules, rounds, turns, seed)
    with ResultsFile(options.results) as file:
        matches: list[_Match] = []
        for pairing in pairings:
            first, second = sorted(one.identity for one in pairing)
            key = MatchKey(*terms, first, second, opening_set, set_hash)
            matches.append(_Match(ruleset, pairing, key, *file.margins(key, pairs)))
        try:
            _play(matches, file, play_chunks, options.progress or ignored)
        except BaseException:
            played = MatchResults(match.result() for match in matches if match.is_played.any())
            if played and on_failure is not None:
                on_failure(played)
            raise
    return MatchResults(match.result() for match in matches)


def _play(
    matches: "list[_Match]", file: "ResultsFile", play_chunks: "PlayChunks", progress: Callable[..., Any]
) -> None:
    """Play missing games, chunk by chunk across all matches, so that an interrupted run has some of each."""
    chunks = [
        Chunk(number, match.key, match.ruleset, match.pairing, start, stop)
        for first in range(0, len(matches[0].is_played), PAIRS_PER_CHUNK)
        for number, match in enumerate(matches)
        for start, stop in _gaps(match.is_played, first, first + PAIRS_PER_CHUNK)
    ]
    done = sum(2 * int(match.is_played.sum()) for match in matches)
    total = sum(match.margins.size for match in matches)
    progress(done, total)
    for chunk, margins, seconds in play_chunks(chunks):
        matches[chunk.match].margins[chunk.start : chunk.stop] = margins
        matches[chunk.match].is_played[chunk.start : chunk.stop] = True
        file.append(chunk.key, chunk.start, margins, seconds)
        done += margins.size
        progress(done, total)


@dataclass
class _Match:
    """A match of P pairs; `margins` `[P, 2]` of pairs that `is_played` are from the side of `key.first`."""

    ruleset: Ruleset
    pairing: tuple[Entrant, Entrant]
    key: "MatchKey"
    is_played: np.ndarray
    margins: np.ndarray

    def result(self) -> MatchResult:
        """Return the result of the finished games, from the side of the first agent of the pairing."""
        (first, second), ruleset, key = self.pairing, self.ruleset, self.key
        margins = self.margins[self.is_played]
        if first.identity != key.first:
            margins = -margins[:, ::-1]
        drawn = _openings(ruleset, key, 0, len(self.is_played))[self.is_played]
        terms = (ruleset.total_seeds, key.opening_set, key.opening_turns)
        return MatchResult(first.name, second.name, ruleset.name, margins, *terms, which_openings(drawn))


class MatchKey(NamedTuple):
    """The identity of a match in a results file; lines with equal keys belong to the same match.

    The first agent has the smaller identity; the order of the specs does not matter. A line without
    `opening_set` is of an earlier version, which played the set "all". `openings` is its `openings_hash`.
    """

    package: str
    ruleset: str
    rules: str
    rounds: int
    opening_turns: int
    seed: int
    first: str
    second: str
    opening_set: Openings = "all"
    openings: str = ""

    def numbers(self) -> list[int]:
        """Return the key as entropy for a SeedSequence."""
        # "all" is omitted, so that files from versions without sets resume with the same openings.
        parts = self[1:-2] if self.opening_set == "all" else self[1:-1]
        digest = hashlib.sha256(json.dumps(parts).encode()).digest()
        return np.frombuffer(digest, np.uint32).tolist()


def rules_hash(ruleset: Ruleset) -> str:
    """Return a hash of a ruleset's texts and stored options, which identifies it in results files."""
    texts = {name: value for name, value in asdict(ruleset).items() if name not in ruleset.options}
    content = json.dumps(texts | ruleset.stored_options, sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()[:16]


class Chunk(NamedTuple):
    """A piece of work: the games of openings `start` to `stop` (exclusive) of the match with index `match`.

    The games depend only on the chunk, not on the machine or the order of work.
    """

    match: int
    key: MatchKey
    ruleset: Ruleset
    pairing: tuple[Entrant, Entrant]
    start: int
    stop: int


PlayChunks = Callable[[Sequence[Chunk]], Iterable[tuple[Chunk, np.ndarray, float]]]
"""Plays chunks, here or on other machines. It yields each chunk, in any order, with its margins, int16
`[stop - start, 2]` from the side of `key.first`, and the time in seconds."""


def play_here(
    chunks: Sequence[Chunk],
    records: str | Path | None = None,
    on_record_error: Callable[[OSError], Any] | None = None,
) -> Iterator[tuple[Chunk, np.ndarray, float]]:
    """Play chunks in this process, and append their games to the file `records`; see PlayChunks.

    If the file cannot be written, for example on a full disk, `on_record_error` is called with the error, and
    later games are not recorded. With None the error is raised.
    """
    for chunk in chunks:
        began, key = time.perf_counter(), chunk.key
        first, second = (one.agent for one in sorted(chunk.pairing, key=lambda one: one.identity))
        seeds = np.random.SeedSequence([*key.numbers(), chunk.start]).generate_state(2, np.uint64).tolist()
        first.seed(seeds[0])
        second.seed(seeds[1])
        drawn = _openings(chunk.ruleset, key, chunk.start, chunk.stop)
        rounds = "match" if key.rounds == MAX_ROUNDS else key.rounds
        recorded: list[GameRecord] | None = None if records is None else []
        margins = play_openings(first, second, drawn, rounds=rounds, recorded=recorded).margins
        seconds = time.perf_counter() - began
        if records is not None and recorded is not None:
            try:
                write_games(records, _described(recorded, chunk), append=True)
            except OSError as error:
                if on_record_error is None:
                    raise
                on_record_error(error)
                records = None
        yield chunk, margins, seconds


def _described(played: list[GameRecord], chunk: Chunk) -> list[GameRecord]:
    """Return the records of a chunk with seed, opening and date."""
    key, today = chunk.key, str(date.today())
    turns = "" if key.opening_set in BUNDLED else f"{key.opening_turns} random turns, "
    name = f"{turns}{key.opening_set}, number "
    return [
        replace(game, seed=key.seed, opening=f"{name}{chunk.start + i // 2}", date=today)
        for i, game in enumerate(played)
    ]


def _openings(ruleset: Ruleset, key: MatchKey, start: int, stop: int) -> np.ndarray:
    seed = int(np.random.SeedSequence(key.numbers()).generate_state(1, np.uint64)[0])
    return openings(ruleset, stop - start, key.opening_turns, seed, start, opening_set=key.opening_set)


def _gaps(found: np.ndarray, start: int, stop: int) -> Iterator[tuple[int, int]]:
    """Yield the runs of openings from start to stop that have not been played."""
    missing = np.flatnonzero(~found[start:stop]) + start
    if len(missing):
        for run in np.split(missing, np.flatnonzero(np.diff(missing) > 1) + 1):
            yield int(run[0]), int(run[-1]) + 1


class ResultsFile(LinesFile):
    """A results file of games, one JSON line per chunk. If the path is None, nothing is stored."""

    formats, kind = (FORMAT, SET_FORMAT), "results; name another file"

    def __init__(self, path: str | Path | None) -> None:
        super().__init__(path)
        self._chunks: dict[MatchKey, list[tuple[int, np.ndarray]]] = {}

    def margins(self, key: MatchKey, pairs: int) -> tuple[np.ndarray, np.ndarray]:
        """Return which of the first P openings have results, bool `[P]`, and the margins, int16 `[P, 2]`."""
        found, margins = np.zeros(pairs, np.bool_), np.zeros((pairs, 2), np.int16)
        for start, chunk in reversed(self._chunks.get(key, [])):  # the first line overwrites later ones
            part = chunk[: max(0, pairs - start)]
            margins[start : start + len(part)] = part
            found[start : start + len(part)] = True
        return found, margins

    def append(self, key: MatchKey, start: int, margins: np.ndarray, seconds: float) -> None:
        """Append a finished chunk as one line."""
        self.append_line(
            {
                "format": FORMAT if key.opening_set == "all" else SET_FORMAT,
                **key._asdict(),
                "start": start,
                "stop": start + len(margins),
                "margins": margins.tolist(),
                "seconds": round(seconds, 3),
            }
        )

    def take(self, fields: dict[str, Any]) -> None:
        """Check and store the fields of a line; see LinesFile."""
        fields = {"opening_set": "all", "openings": ""} | fields
        key = MatchKey(**{name: fields[name] for name in MatchKey._fields})
        start, given = whole("start", fields["start"], 0, 2**40), np.array(fields["margins"])
        if given.size and given.dtype.kind != "i":  # floats, NaN or texts
            raise ValueError
        margins = given.astype(np.int16).reshape(-1, 2)
        is_valid = (
            (given == margins.reshape(given.shape)).all()
            and len(margins) == fields["stop"] - start
            and key.opening_set in OPENINGS
            and all(isinstance(part, str) or is_whole(part) for part in key)
        )
        if not is_valid:
            raise ValueError
        self._chunks.setdefault(key, []).append((start, margins))
