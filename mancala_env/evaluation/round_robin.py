"""Round robins of matches that can resume: each finished chunk of games is a line of a results file.

A line identifies its games: ruleset and rule options, both agents, random seed, openings `start` to `stop`
and the margins. Checkpoints are identified by the hash of the file, so a changed file is another agent. The
openings of a match are numbered and follow from the seed. So a killed run resumes with exactly the missing
openings, and a later run with more games plays only the new ones.
"""

import hashlib
import itertools
import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from mancala_env import agents
from mancala_env._util.checks import is_whole, several, whole
from mancala_env.agents import Agent, AgentLike
from mancala_env.agents.registry import entrant_of
from mancala_env.engine.episode import MAX_ROUNDS, encode_rounds
from mancala_env.evaluation.balanced_openings import openings_hash
from mancala_env.evaluation.matches import (
    MatchResult,
    Progress,
    num_pairs,
    play_openings,
    which_openings,
)
from mancala_env.evaluation.openings import (
    OPENINGS,
    InvalidMatch,
    Openings,
    openings,
    openings_to_evaluate,
)
from mancala_env.evaluation.results_file import InvalidResults, LinesFile
from mancala_env.games.records import GameRecord, check_appendable, write_games
from mancala_env.rulesets import Ruleset, lookup
from mancala_env.version import __version__

FORMAT = 1
# Format of lines whose openings belong to a set; older versions would take them for games from all openings.
SET_FORMAT = 2
# 64 games: enough for agents that act in batches, and only seconds for the slowest anchor of the ladder.
PAIRS_PER_CHUNK = 32


class Entrant(NamedTuple):
    """An agent in a round robin.

    Attributes:
        agent: The agent.
        name: Name in tables: the spec.
        identity: Identity in results files: the spec with the hash of each file that it names.
    """

    agent: Agent
    name: str
    identity: str


def entrant(spec: AgentLike, ruleset: str | Ruleset, num_threads: int | None = None) -> Entrant:
    """Make an agent from a spec, and determine its identity.

    Raises:
        InvalidSpec: If the spec is invalid, or the agent cannot play the ruleset.
    """
    agent = agents.make(spec, ruleset, num_threads=num_threads)
    return Entrant(agent, agent.spec, entrant_of(agent))


def round_robin(
    specs: Sequence[AgentLike],
    ruleset: str | Ruleset,
    *,
    games: int = 200,
    opening_turns: int | None = None,
    opening_set: Openings | None = None,
    seed: int = 0,
    rounds: int | Literal["match"] = 1,
    results: str | Path | None = None,
    records: str | Path | None = None,
    num_threads: int | None = None,
    progress: Progress | None = None,
    play_chunks: "PlayChunks | None" = None,
) -> list[MatchResult]:
    """Play a match between each two of several agents.

    >>> matches = round_robin(["random", "greedy"], "leyla", games=20)
    >>> [(match.first, match.second, match.games) for match in matches]
    [('random', 'greedy', 20)]

    Args:
        specs: Two or more agents, or their specs.
        ruleset: The ruleset, or its name.
        games: Number of games per match; even.
        opening_turns: Number of random turns in an opening.
        opening_set: Set of openings; None as in :func:`play_matches`.
        seed: Random seed of all openings and agents.
        rounds: Number of rounds per game, or "match".
        results: Results file; finished games are read from it, and new ones appended.
        records: File of game records that new games are appended to; see :mod:`mancala_env.games.records`.
            The games of a chunk are recorded before its results. A process killed in between leaves games
            that are played and recorded again, but none is missing.
        num_threads: Number of CPU threads; None for all available cores.
        progress: Called as progress(finished games, games) after each chunk; games read from `results` count.
        play_chunks: Plays the games; None plays them in this process.
            :class:`mancala_env.evaluation.ray_matches.RayChunks` plays them on a Ray cluster, with the same
            results.

    Returns:
        One result for each two agents, in the order of `specs`.

    Raises:
        InvalidMatch: If there are fewer than two agents, an agent is named twice, or an argument is out of
            range.
        InvalidArgument: If the seed is invalid.
        InvalidSpec: If a spec is invalid, or an agent cannot play the ruleset.
        InvalidResults: If `results` is not a results file, or another process is writing it.
        InvalidRecord: If `records` exists and does not contain game records.
        OSError: If `records` cannot be written.
    """
    entrants = [entrant(spec, ruleset, num_threads) for spec in several("specs", specs, "a list of agents")]
    if len(entrants) < 2:
        raise InvalidMatch(f"specs must name at least two agents, not {len(entrants)}")
    check_distinct(entrants)
    return play_pairings(
        list(itertools.combinations(entrants, 2)),
        ruleset,
        games=games,
        opening_turns=opening_turns,
        opening_set=opening_set,
        seed=seed,
        rounds=rounds,
        results=results,
        records=records,
        progress=progress,
        play_chunks=play_chunks,
    )


def check_distinct(entrants: Sequence[Entrant]) -> None:
    """Raise InvalidMatch if two entrants are the same agent or have the same name."""
    seen: dict[str, str] = {}
    for one in entrants:
        if one.identity in seen:
            raise InvalidMatch(f"{one.name} and {seen[one.identity]} are the same agent; name it once")
        if one.name in seen.values():
            raise InvalidMatch(f"two different agents are named {one.name}; rename one of them")
        seen[one.identity] = one.name


def play_pairings(
    pairings: Sequence[tuple[Entrant, Entrant]],
    ruleset: str | Ruleset,
    *,
    games: int,
    opening_turns: int | None = None,
    opening_set: Openings | None = None,
    seed: int = 0,
    rounds: int | Literal["match"] = 1,
    results: str | Path | None = None,
    records: str | Path | None = None,
    progress: Progress | None = None,
    play_chunks: "PlayChunks | None" = None,
    on_record_error: Callable[[OSError], Any] | None = None,
) -> list[MatchResult]:
    """Play a match for each pairing; see :func:`round_robin` and :func:`play_here`."""
    ruleset, seed = lookup(ruleset), whole("seed", seed, 0)
    pairs = num_pairs(games)
    if records is not None:
        if play_chunks is not None:
            raise InvalidMatch(
                f"records={str(records)!r} cannot be used with play_chunks, which does not record games"
            )
        check_appendable(records)  # before the games rather than after the first chunk
        GameRecord(ruleset, rounds=rounds)  # raises if a record cannot hold the ruleset's texts
        play_chunks = partial(play_here, records=records, on_record_error=on_record_error)
    limit = MAX_ROUNDS if rounds == "match" else encode_rounds(rounds)
    for one in itertools.chain(*pairings):
        one.agent.check_rounds(rounds)  # before the games of other pairings
    chosen, turns = openings_to_evaluate(opening_set, ruleset, opening_turns)
    keys = [_key(ruleset, *pairing, turns, chosen, seed, limit) for pairing in pairings]
    with ResultsFile(results) as file:
        done = [file.margins(key, pairs) for key in keys]
        total = games * len(pairings)
        over = sum(2 * int(found.sum()) for found, _ in done)
        if progress is not None:
            progress(over, total)
        # Chunk by chunk across all matches, so that an interrupted run has results of each match.
        chunks = [
            Chunk(match, key, ruleset, pairing, start, stop)
            for first in range(0, pairs, PAIRS_PER_CHUNK)
            for match, (pairing, key, (found, _)) in enumerate(zip(pairings, keys, done, strict=True))
            for start, stop in _gaps(found, first, min(first + PAIRS_PER_CHUNK, pairs))
        ]
        for chunk, played, seconds in (play_chunks or play_here)(chunks):
            done[chunk.match][1][chunk.start : chunk.stop] = played
            file.append(chunk.key, chunk.start, played, seconds)
            over += 2 * len(played)
            if progress is not None:
                progress(over, total)
    return [
        _result_of(pairing, key, ruleset, margins)
        for pairing, key, (_, margins) in zip(pairings, keys, done, strict=True)
    ]


class MatchKey(NamedTuple):
    """The identity of a match in a results file; lines with equal keys belong to the same match.

    The first agent is the one with the smaller identity, whatever the order of the specs. A line without
    `opening_set` is from a version without sets, with games from all openings. `openings` is a hash of the
    balanced openings, which may be regenerated, and "" for other sets.
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


def _key(
    ruleset: Ruleset,
    one: Entrant,
    other: Entrant,
    opening_turns: int,
    opening_set: Openings,
    seed: int,
    rounds: int,
) -> MatchKey:
    first, second = sorted((one.identity, other.identity))
    rules = rules_hash(ruleset)
    openings = openings_hash(ruleset, opening_set)
    return MatchKey(
        __version__, ruleset.name, rules, rounds, opening_turns, seed, first, second, opening_set, openings
    )


def rules_hash(ruleset: Ruleset) -> str:
    """Return a hash of all attributes of a ruleset, which identifies it in results files."""
    return hashlib.sha256(json.dumps(asdict(ruleset), sort_keys=True).encode()).hexdigest()[:16]


class Chunk(NamedTuple):
    """A piece of work: the games of openings `start` to `stop` of a match.

    The games depend only on the chunk, not on where or when it is played.

    Attributes:
        match: Index of the match.
        key: Identity of the match.
        ruleset: The ruleset.
        pairing: The two agents.
        start: Index of the first opening.
        stop: Index after the last opening.
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
    """Play chunks one after another in this process; see PlayChunks.

    Args:
        chunks: The chunks.
        records: File of game records that the games of each chunk are appended to.
        on_record_error: Called with the error if `records` cannot be written, for example on a full disk.
            Later games are then played without being recorded. None to raise the error.
    """
    for chunk in chunks:
        began = time.perf_counter()
        recorded: list[GameRecord] | None = None if records is None else []
        margins = play_chunk(chunk, recorded)
        seconds = time.perf_counter() - began
        if records is not None and recorded is not None:
            try:
                write_games(records, recorded, append=True)
            except OSError as error:
                if on_record_error is None:
                    raise
                on_record_error(error)
                records = None
        yield chunk, margins, seconds


def play_chunk(chunk: Chunk, recorded: list[GameRecord] | None = None) -> np.ndarray:
    """Play a chunk, and return its margins, int16 `[stop - start, 2]` from the side of `key.first`.

    Args:
        chunk: The chunk.
        recorded: List that the game records are appended to, pair by pair.
    """
    first, second = sorted(chunk.pairing, key=lambda one: one.identity)
    key, start = chunk.key, chunk.start
    seeds = np.random.SeedSequence([*key.numbers(), start]).generate_state(2, np.uint64).tolist()
    first.agent.seed(seeds[0])
    second.agent.seed(seeds[1])
    drawn = _openings(chunk.ruleset, key, start, chunk.stop)
    played: list[GameRecord] | None = None if recorded is None else []
    result = play_openings(
        first.agent,
        second.agent,
        drawn,
        rounds="match" if key.rounds == MAX_ROUNDS else key.rounds,
        recorded=played,
    )
    if recorded is not None and played is not None:
        today = str(date.today())
        for number, game in enumerate(played):
            opening = f"{key.opening_set}, number {start + number // 2}"
            if key.opening_set != "balanced":
                opening = f"{key.opening_turns} random turns, {opening}"
            recorded.append(replace(game, seed=key.seed, opening=opening, date=today))
    return result.margins


def _openings(ruleset: Ruleset, key: MatchKey, start: int, stop: int) -> np.ndarray:
    seed = int(np.random.SeedSequence(key.numbers()).generate_state(1, np.uint64)[0])
    return openings(ruleset, stop - start, key.opening_turns, seed, start, opening_set=key.opening_set)


def _result_of(
    pairing: tuple[Entrant, Entrant], key: MatchKey, ruleset: Ruleset, margins: np.ndarray
) -> MatchResult:
    first, second = pairing
    is_first = first.identity == key.first
    one, other = (first, second) if is_first else (second, first)
    result = MatchResult(
        one.name,
        other.name,
        ruleset.name,
        margins,
        ruleset.total_seeds,
        key.opening_set,
        key.opening_turns,
        which_openings(_openings(ruleset, key, 0, len(margins))),
    )
    return result if is_first else result.flipped()


def _gaps(found: np.ndarray, start: int, stop: int) -> Iterator[tuple[int, int]]:
    """Yield the runs of openings from start to stop that have not been played."""
    missing = np.flatnonzero(~found[start:stop]) + start
    if len(missing):
        for run in np.split(missing, np.flatnonzero(np.diff(missing) > 1) + 1):
            yield int(run[0]), int(run[-1]) + 1


class ResultsFile(LinesFile):
    """A results file of games, one JSON line per chunk. With the path None nothing is stored."""

    def __init__(self, path: str | Path | None) -> None:
        """Set the path; a with statement opens, locks and reads the file."""
        super().__init__(path)
        self._chunks: dict[MatchKey, list[tuple[int, np.ndarray]]] = {}

    def margins(self, key: MatchKey, pairs: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the results of the first P openings of a match.

        Returns:
            bool `[P]`, whether the file contains the opening, and int16 `[P, 2]`, the margins. Of duplicates
            the first line counts.
        """
        found = np.zeros(pairs, np.bool_)
        margins = np.zeros((pairs, 2), np.int16)
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

    def take(self, line: bytes, number: int) -> None:
        """Parse a line of the file; see LinesFile."""
        key, start, margins = self._parsed(line, number)
        self._chunks.setdefault(key, []).append((start, margins))

    def _parsed(self, line: bytes, number: int) -> tuple[MatchKey, int, np.ndarray]:
        try:
            fields: dict[str, Any] = json.loads(line)
            if fields["format"] not in (FORMAT, SET_FORMAT):
                raise InvalidResults(
                    f"{self.path}, line {number}: format {repr(fields['format'])[:80]}, "
                    f"not {FORMAT} or {SET_FORMAT}"
                )
            fields = {"opening_set": "all", "openings": ""} | fields
            given = np.array(fields["margins"])
            if given.size and given.dtype.kind != "i":  # floats, NaN or texts
                raise ValueError
            margins = given.astype(np.int16).reshape(-1, 2)
            start = whole("start", fields["start"], 0, 2**40)
            if len(margins) != fields["stop"] - start or fields["opening_set"] not in OPENINGS:
                raise ValueError
            if (given != margins.reshape(given.shape)).any():
                raise ValueError
            key = MatchKey(**{name: fields[name] for name in MatchKey._fields})
            if not all(isinstance(part, str) or is_whole(part) for part in key):
                raise ValueError
            return key, start, margins
        except InvalidResults:
            raise
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
            raise InvalidResults(
                f"{self.path}, line {number}: not a line of results; name another file"
            ) from None
