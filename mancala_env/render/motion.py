"""Animation of a turn: the start, duration and board of each event of a timeline.

SVG, GIF, window and terminal use it for animations. Until a seed in hand falls, it is drawn in the hole from
which it was lifted. So every picture shows all seeds.
"""

from typing import NamedTuple

from mancala_env.engine.coordinates import action_of
from mancala_env.engine.state import PLAYERS, State
from mancala_env.engine.timeline import Event, Timeline, replay
from mancala_env.rulesets import Ruleset

MAX_LAPS_SHOWN = 24
"""Most laps of a relay that are shown; the last lap always is."""
SEED_SECONDS = 0.18
"""Default time that a seed takes to fall."""
SEEDS_LONG = {
    "lift": 1.5, "drop": 1.0, "relay": 1.0, "capture": 2.5, "ransom": 2.5, "store": 3.0, "own": 3.5,
    "put_back": 5.0, "skip": 4.0, "pass": 4.0, "next": 0.0, "end": 0.0,
}  # fmt: skip
"""Time of each kind of event, in times of a falling seed."""


class Step(NamedTuple):
    """One event of a turn with its time.

    Attributes:
        start: Start in seconds from the start of the turn.
        seconds: Duration in seconds.
        event: The event. Kind "skip" stands for laps that are not shown; `seeds` is their number.
        state: Board after the event, B = 1, with seeds in hand in the hole of their origin.
        source: The hole of origin of the seeds in hand; -1 when the hand is empty.
        in_hand: Number of seeds in hand after the event.
        lap: Number of the lap, from 1.
    """

    start: float
    seconds: float
    event: Event
    state: State
    source: int
    in_hand: int
    lap: int


def steps(
    state: State, timeline: Timeline, seed_seconds: float = SEED_SECONDS, max_laps: int = MAX_LAPS_SHOWN
) -> list[Step]:
    """Return the steps of a turn from the position before it, B = 1.

    A seed falls in `seed_seconds`; other events take multiples of it. Of a turn with more than `max_laps`,
    the first laps and the last are shown.
    """
    left_out = range(max_laps, timeline.laps)
    shown: list[Step] = []
    start, lap = 0.0, 0
    lying: dict[int, int] = {}  # seeds in hand, by the hole of origin
    source = -1
    for event, board in zip(timeline.events, replay(state, timeline.events), strict=True):
        if event.kind == "lift" and lap < timeline.laps:
            lap += 1
        if event.kind in ("lift", "capture", "ransom"):
            source = event.hole
            lying[source] = lying.get(source, 0) + event.seeds
        elif event.kind == "drop":
            lying[source] -= 1
        elif event.kind in ("store", "put_back"):
            lying.clear()
        if lap in left_out and event.kind in ("lift", "drop", "relay"):
            if event.kind != "relay" or lap != left_out[-1]:
                continue
            event = Event("skip", event.player, event.hole, len(left_out))
        board = board._replace(seeds=board.seeds.copy())
        for hole, seeds in lying.items():
            board.seeds[0, hole] += seeds
        in_hand = sum(lying.values())
        seconds = seed_seconds * SEEDS_LONG[event.kind]
        shown.append(Step(start, seconds, event, board, source if in_hand else -1, in_hand, lap))
        start += seconds
    return shown


def ends_of(timeline: Timeline) -> tuple[int, ...]:
    """Return the holes that mark a turn: its start, and the hole of its last seed.

    An endless relay has no last seed.
    """
    lap, end = 0, timeline.hole
    for event in timeline.events:
        if event.kind == "put_back":
            return (timeline.hole,)
        if event.kind == "lift":
            lap += 1
        if event.kind == "drop" and lap <= timeline.laps:
            end = event.hole
    return (timeline.hole,) if end == timeline.hole else (timeline.hole, end)


def caption(ruleset: Ruleset, timeline: Timeline, step: Step) -> str:
    """Describe a step in one line."""
    if step.event.kind not in ("lift", "drop", "relay"):
        return sentence(ruleset, step.event)
    lap = f", lap {step.lap} of {timeline.laps}" if timeline.laps > 1 else ""
    return f"{PLAYERS[timeline.player]} sows {turn_name(ruleset, timeline.player, timeline.hole)}{lap}"


def turn_name(ruleset: Ruleset, player: int, hole: int) -> str:
    """Return the turn of a player that starts from a hole, in notation: S1, N4."""
    return f"{'SN'[player]}{action_of(ruleset, player, hole) + 1}"


def place_name(ruleset: Ruleset, hole: int) -> str:
    """Return the name of a hole: its row and its number in sowing order, S1 to NW."""
    return turn_name(ruleset, hole // ruleset.row_width, hole)


def sentence(ruleset: Ruleset, event: Event) -> str:
    """Describe an event in words."""
    return _SENTENCES[event.reason or event.kind].format(
        player=PLAYERS[event.player],
        where=place_name(ruleset, event.hole) if event.hole >= 0 else "",
        number=event.seeds,
        seeds=f"{event.seeds} seed" + ("" if event.seeds == 1 else "s"),
        owned={"uur": " uur", "pair": "", "weg": " weg"}[ruleset.landing],
    )


# By kind of event; at the end of a round by its reason.
_SENTENCES = {
    "lift": "{player} lifts {seeds} from {where}",
    "drop": "one into {where}",
    "relay": "The relay continues from {where}, which holds {number}",
    "capture": "{player} captures {seeds} from {where}",
    "ransom": "{player} wins back {seeds} from {where}",
    "store": "{seeds} into {player}'s store",
    "own": "{where} becomes {player}'s{owned}",
    "put_back": "The relay never ends: every seed goes back",
    "skip": "Laps not shown: {number}",
    "pass": "{player} has no hole to sow and passes",
    "next": "{player} to move",
    "stuck": "The round is over: no hole to sow",
    "stall": "The round is over: 50 turns changed nothing",
    "endless": "The round is over",
}


def in_words(ruleset: Ruleset, timeline: Timeline) -> list[str]:
    """Describe a turn in sentences for screen readers: one for each lap, then the landing."""
    said: list[str] = []
    lap, left = 0, 0
    lifted = timeline.events[0]
    for event in timeline.events:
        if event.kind == "lift":
            lap, left, lifted = lap + 1, event.seeds, event
        elif event.kind == "drop":
            left -= 1
            if left == 0 and lap <= timeline.laps:
                where = place_name(ruleset, event.hole)
                said.append(f"{sentence(ruleset, lifted)}, the last falls into {where}")
            elif left == 0:
                three, empty = place_name(ruleset, lifted.hole), place_name(ruleset, event.hole)
                said.append(f"one of the three in {three} crosses over to {empty}")
        elif event.kind != "relay":
            said.append(sentence(ruleset, event))
    if timeline.laps > MAX_LAPS_SHOWN:
        said[MAX_LAPS_SHOWN - 1 : timeline.laps - 1] = [f"laps not shown: {timeline.laps - MAX_LAPS_SHOWN}"]
    return [f"{words[0].upper()}{words[1:]}." for words in said]
