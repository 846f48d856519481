"""Many matches at once, resumable: every finished chunk of games is a line in a results file.

A line says everything about its games: ruleset and its dials, both agents (a checkpoint by the hash of
its file, so a changed file is another agent), seed, openings `start` to `stop`, margins. Openings of a
match are numbered and drawn from the seed, so a run that was killed goes on with exactly the openings
that are missing, and asking for more games later plays only the new ones.
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
from mancala_env.evaluation.balanced import openings_hash
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
# Lines of games whose openings are of a set. Older versions would take them for games from all openings.
SET_FORMAT = 2
# 64 games: enough to keep a batched agent busy, and some seconds of the slowest anchor of the ladder.
PAIRS_PER_CHUNK = 32


class Entrant(NamedTuple):
    """An agent that takes part.

    Attributes:
        agent: The agent.
        name: How it is called in tables: its spec.
        identity: What its results are filed under: the spec, with the hash of each file that it names.
    """

    agent: Agent
    name: str
    identity: str


def entrant(spec: AgentLike, ruleset: str | Ruleset, num_threads: int | None = None) -> Entrant:
    """Make an agent and say what its results are filed under.

    Raises:
        InvalidSpec: The spec names no agent, or the agent cannot play the ruleset.
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
    """Let everybody play everybody.

    >>> matches = round_robin(["random", "greedy"], "leyla", games=20)
    >>> [(match.first, match.second, match.games) for match in matches]
    [('random', 'greedy', 20)]

    Args:
        specs: Two or more agents.
        ruleset: The game.
        games: Games of each match, even.
        opening_turns: Random turns that make an opening.
        opening_set: Which openings; None as in :func:`play_matches`.
        seed: Seed of all openings and agents.
        rounds: Rounds of a game, or "match".
        results: File the margins of the games are appended to, and taken from where they have been played
            already.
        records: File the games that are played now are appended to, turn by turn; see
            :mod:`mancala_env.games.records`. A chunk's games are recorded before its results, so that none is
            missing: a process killed between the two leaves games there that are played and recorded again.
        num_threads: CPU threads; None takes every core this process may use.
        progress: Called as progress(games over, games) after each chunk; games taken from the file count.
        play_chunks: What plays the games; None plays them here.
            :class:`mancala_env.evaluation.ray_matches.RayChunks`
            plays them on a Ray cluster, with the same results.

    Returns:
        One result for each pair of agents, in the order of `specs`.

    Raises:
        InvalidMatch: The same agent twice, fewer than two, or an argument is out of range.
        InvalidArgument: The seed is none.
        InvalidSpec: A spec names no agent, or an agent cannot play the ruleset.
        InvalidResults: The file is not a results file, or another process is writing it.
        InvalidRecord: The file of records is one of something else.
        OSError: The file of records cannot be written.
    """
    entrants = [entrant(spec, ruleset, num_threads) for spec in several("specs", specs, "a list of agents")]
    if len(entrants) < 2:
        raise InvalidMatch(f"a round robin needs at least two agents, not {len(entrants)}")
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
    """Raise an InvalidMatch where two entrants are the same agent, or tables could not tell them apart."""
    seen: dict[str, str] = {}
    for one in entrants:
        if one.identity in seen:
            raise InvalidMatch(f"{one.name} and {seen[one.identity]} are the same agent; name each once")
        if one.name in seen.values():
            raise InvalidMatch(f"two different agents are called {one.name}; give each a name of its own")
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
) -> list[MatchResult]:
    """Play the matches asked for; see :func:`round_robin`, which asks for all of them."""
    ruleset, seed = lookup(ruleset), whole("seed", seed, 0)
    pairs = num_pairs(games)
    if records is not None:
        if play_chunks is not None:
            raise InvalidMatch(
                "games are recorded where they are played: leave records out, or play them here"
            )
        check_appendable(records)  # said now rather than after the first games
        GameRecord(ruleset, rounds=rounds)  # so is a ruleset whose words no record can hold
        play_chunks = partial(play_here, records=records)
    limit = MAX_ROUNDS if rounds == "match" else encode_rounds(rounds)
    for one in itertools.chain(*pairings):
        one.agent.check_rounds(rounds)  # said now rather than after the games of others
    chosen, turns = openings_to_evaluate(opening_set, ruleset, opening_turns)
    keys = [_key(ruleset, *pairing, turns, chosen, seed, limit) for pairing in pairings]
    with ResultsFile(results) as file:
        done = [file.margins(key, pairs) for key in keys]
        total = games * len(pairings)
        over = sum(2 * int(found.sum()) for found, _ in done)
        if progress is not None:
            progress(over, total)
        # Chunk by chunk across all matches, so that an interrupted run has some of each.
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
        _as_seen(pairing, key, ruleset, margins)
        for pairing, key, (_, margins) in zip(pairings, keys, done, strict=True)
    ]


class Key(NamedTuple):
    """What identifies the games of a match: two lines with the same key belong together.

    The agent with the smaller identity is the first, whichever way round the match was asked for. A line
    without an `opening_set` is from before there were sets: its games are from all openings. `openings` is a
    hash of the balanced ones, which may be made anew, and empty for others.
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
        # "all" is left out: files from before there were sets go on with the same openings.
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
) -> Key:
    first, second = sorted((one.identity, other.identity))
    rules = rules_hash(ruleset)
    openings = openings_hash(ruleset, opening_set)
    return Key(
        __version__, ruleset.name, rules, rounds, opening_turns, seed, first, second, opening_set, openings
    )


def rules_hash(ruleset: Ruleset) -> str:
    """Return what results are filed under beside a ruleset's name: a hash of all that it says."""
    return hashlib.sha256(json.dumps(asdict(ruleset), sort_keys=True).encode()).hexdigest()[:16]


class Chunk(NamedTuple):
    """Openings `start` to `stop` of a match that are to be played.

    Its games depend on nothing but the chunk, wherever and whenever it is played.

    Attributes:
        match: Index of the match.
        key: What identifies its games.
        ruleset: The game.
        pairing: Who plays.
        start: Index of the first opening.
        stop: Index past the last.
    """

    match: int
    key: Key
    ruleset: Ruleset
    pairing: tuple[Entrant, Entrant]
    start: int
    stop: int


PlayChunks = Callable[[Sequence[Chunk]], Iterable[tuple[Chunk, np.ndarray, float]]]
"""Plays chunks, here or on other machines: gives each back, in any order, with its margins, int16
`[stop - start, 2]` from the side of `key.first`, and the seconds it took."""


def play_here(
    chunks: Sequence[Chunk], records: str | Path | None = None
) -> Iterator[tuple[Chunk, np.ndarray, float]]:
    """Play chunks one after another in this process; see PlayChunks.

    Args:
        chunks: The chunks.
        records: File that the games are appended to, a chunk at a time.
    """
    for chunk in chunks:
        began = time.perf_counter()
        recorded: list[GameRecord] | None = None if records is None else []
        margins = play_chunk(chunk, recorded)
        seconds = time.perf_counter() - began
        if records is not None and recorded is not None:
            write_games(records, recorded, append=True)
        yield chunk, margins, seconds


def play_chunk(chunk: Chunk, recorded: list[GameRecord] | None = None) -> np.ndarray:
    """Play a chunk, and return its margins, int16 `[stop - start, 2]` from the side of `key.first`.

    Args:
        chunk: The chunk.
        recorded: A list to which the games are added, both of an opening together.
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


def _openings(ruleset: Ruleset, key: Key, start: int, stop: int) -> np.ndarray:
    seed = int(np.random.SeedSequence(key.numbers()).generate_state(1, np.uint64)[0])
    return openings(ruleset, stop - start, key.opening_turns, seed, start, opening_set=key.opening_set)


def _as_seen(
    pairing: tuple[Entrant, Entrant], key: Key, ruleset: Ruleset, margins: np.ndarray
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
    """Finished games, one chunk a line of JSON; None keeps nothing."""

    def __init__(self, path: str | Path | None) -> None:
        """Name the file; it is opened, read and locked by ``with``."""
        super().__init__(path)
        self._chunks: dict[Key, list[tuple[int, np.ndarray]]] = {}

    def margins(self, key: Key, pairs: int) -> tuple[np.ndarray, np.ndarray]:
        """Return which of the first P openings of a match are in the file, bool `[P]`, and the margins,
        int16 `[P, 2]`. A game that is there twice counts once.
        """
        found = np.zeros(pairs, np.bool_)
        margins = np.zeros((pairs, 2), np.int16)
        for start, chunk in reversed(self._chunks.get(key, [])):  # the first line of a game wins
            part = chunk[: max(0, pairs - start)]
            margins[start : start + len(part)] = part
            found[start : start + len(part)] = True
        return found, margins

    def append(self, key: Key, start: int, margins: np.ndarray, seconds: float) -> None:
        """Add a finished chunk as one line."""
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
        """Take a line that is in the file; see LinesFile."""
        key, start, margins = self._parsed(line, number)
        self._chunks.setdefault(key, []).append((start, margins))

    def _parsed(self, line: bytes, number: int) -> tuple[Key, int, np.ndarray]:
        try:
            fields: dict[str, Any] = json.loads(line)
            if fields["format"] not in (FORMAT, SET_FORMAT):
                raise InvalidResults(
                    f"{self.path}, line {number}: format {repr(fields['format'])[:80]}, "
                    f"not {FORMAT} or {SET_FORMAT}"
                )
            fields = {"opening_set": "all", "openings": ""} | fields
            given = np.array(fields["margins"])
            if given.size and given.dtype.kind != "i":  # NaN among them, or words
                raise ValueError
            margins = given.astype(np.int16).reshape(-1, 2)
            start = whole("start", fields["start"], 0, 2**40)
            if len(margins) != fields["stop"] - start or fields["opening_set"] not in OPENINGS:
                raise ValueError
            if (given != margins.reshape(given.shape)).any():
                raise ValueError
            key = Key(**{name: fields[name] for name in Key._fields})
            if not all(isinstance(part, str) or is_whole(part) for part in key):
                raise ValueError
            return key, start, margins
        except InvalidResults:
            raise
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
            raise InvalidResults(
                f"{self.path}, line {number}: not a line of results; name another file"
            ) from None
