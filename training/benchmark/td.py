"""TD(lambda) on afterstates, with an n-tuple network as value function.

The learner plays itself after random openings. It chooses the turn with the best afterstate, or a random turn
with probability 0.2. After each game it moves the value of every afterstate towards its lambda-return, which
is cut at random turns (Watkins 1989).

A value is the certain lead (stores and owned holes) plus a sum of weights, one per n-tuple of holes (Lucas
2008). Each weight has its own step size: the sum of its errors divided by the sum of their sizes (temporal
coherence: Beal and Smith 1999; Jaskowski 2018). So there is no step size to tune. One kernel does all of it,
at 400,000 turns per second on one core.

Symbols: L tuples, M weights, H holes.
"""

import numpy as np

from mancala_env import agents
from mancala_env.benchmark import Point
from mancala_env.engine.board import nth_bit, num_bits, seeds_in, seeds_within
from mancala_env.engine.episode import encode_episode, new_episode
from mancala_env.engine.jit.decorator import kernel
from mancala_env.engine.rng import next_random, random_below
from mancala_env.engine.state import (
    RUNNING,
    SOUTH,
    as_actions,
    count_of,
    encode,
    hole_of,
    owned_by,
    store_of,
)
from mancala_env.engine.turn import legal_holes, play_turn
from mancala_env.observations import Observer, board

TASKS = ("afterstates", "anything")

LAMBDA = 0.8
EXPLORATION = 0.2  # share of turns that are random
STEP = 1.0  # factor on each weight's own step size, divided by L
# Codes of a hole: 0 to MOST_SEEDS (that many seeds or more), or an owned hole.
MOST_SEEDS = 11
MINE, THEIRS = MOST_SEEDS + 1, MOST_SEEDS + 2
CODES = MOST_SEEDS + 3
LONGEST = 512  # most turns of a game to learn from; rounds last about 30
AT_ONCE = 5_000  # turns between checks of the budget

WEIGHT, ERRORS, SIZES = 0, 1, 2  # columns: the weight, the sum of its errors, the sum of their sizes


def tuples_of(num_holes):
    """Return the tuples: all pairs, neighbouring triples, and blocks of two holes and the two opposite.

    Returns:
        The holes of each tuple as the player who just moved sees them, int64 `[L, 4]`, padded with -1; the
        index of its first weight, int64 `[L]`; and M.
    """
    holes = range(num_holes)
    pairs = [(a, b, -1, -1) for a in holes for b in range(a)]
    triples = [(a, (a + 1) % num_holes, (a + 2) % num_holes, -1) for a in holes]
    blocks = [(a, a + 1, num_holes - 1 - a, num_holes - 2 - a) for a in range(num_holes // 2 - 1)]
    tuples = np.array(pairs + triples + blocks)
    ends = np.cumsum(CODES ** (tuples >= 0).sum(axis=1))
    return tuples, np.append(0, ends[:-1]), int(ends[-1])


@kernel
def code_of(rules, game, player, hole_seen):
    """Return the code of a hole for a player."""
    hole = hole_of(rules, player, hole_seen)
    if (owned_by(game, player) >> hole) & 1:
        return MINE
    if (owned_by(game, 1 - player) >> hole) & 1:
        return THEIRS
    return min(np.int64(seeds_in(game.board, hole)), MOST_SEEDS)


@kernel
def look_up(rules, game, player, tuples, starts, half, codes, places):
    """Write the index of each tuple's weight for an afterstate. Weights after a pass begin at `half`."""
    for i in range(2 * rules.width):
        codes[i] = code_of(rules, game, player, i)
    base = half if game.player == player else 0  # the other player had to pass
    for n in range(len(tuples)):
        place = 0
        for i in range(4):
            if tuples[n, i] >= 0:
                place = CODES * place + codes[tuples[n, i]]
        places[n] = base + starts[n] + place


@kernel
def value_of(rules, game, player, weights, tuples, starts, half, codes, places):
    """Return an afterstate's value for the player who moved, in seeds; exact if the round is over."""
    if game.end != RUNNING:
        return np.float64(count_of(rules, game, player) - count_of(rules, game, 1 - player))
    look_up(rules, game, player, tuples, starts, half, codes, places)
    value = np.float64(store_of(game, player) - store_of(game, 1 - player))
    value += seeds_within(game.board, owned_by(game, player))
    value -= seeds_within(game.board, owned_by(game, 1 - player))
    for n in range(len(tuples)):
        value += weights[places[n], WEIGHT]
    return value


@kernel
def learn_from_games(rules, episode, random, turns, weights, tuples, starts, half, memory, values, scratch):
    """Play and learn from whole games until they have a number of turns.

    Args:
        rules: The rules, from `encode`.
        episode: Settings of the episode, from `encode_episode`.
        random: State of the random generator.
        turns: Number of turns; the last game is finished.
        weights: float32 `[2 * M, 3]`: weight, sum of errors, sum of their sizes.
        tuples: int64 `[L, 4]`, from `tuples_of`.
        starts: int64 `[L]`, from `tuples_of`.
        half: M.
        memory: int64 `[LONGEST, L]`, indexes of each afterstate's weights.
        values: float64 `[LONGEST, 4]`: South's value of the afterstate, South's value of the best afterstate,
            whether the turn was random, and 1 if South moved or -1 if North moved.
        scratch: int64 `[2, max(H, L)]`, working memory.

    Returns:
        The state of the generator, and the number of turns.
    """
    done = 0
    codes, places = scratch[0], scratch[1]
    while done < turns:
        random, game = new_episode(rules, episode, random)
        length = 0
        while game.end == RUNNING and length < LONGEST:
            mover = game.player
            side = 1.0 if mover == SOUTH else -1.0
            actions = as_actions(rules, mover, legal_holes(rules, game))
            random, bits = next_random(random)
            is_random = np.float64(bits >> np.uint64(11)) * 2.0**-53 < EXPLORATION
            random, drawn = random_below(random, num_bits(actions))
            best, best_hole, chosen_value = -1e9, 0, 0.0
            for n in range(num_bits(actions)):
                hole = hole_of(rules, mover, nth_bit(actions, n))
                after = play_turn(rules, game, hole)[0]
                value = value_of(rules, after, mover, weights, tuples, starts, half, codes, places)
                if value > best:
                    best, best_hole = value, hole
                if n == drawn:
                    chosen_value = value
            chosen = hole_of(rules, mover, nth_bit(actions, drawn)) if is_random else best_hole
            values[length, 0] = side * (chosen_value if is_random else best)
            values[length, 1] = side * best
            values[length, 2] = is_random
            values[length, 3] = side
            game = play_turn(rules, game, chosen)[0]
            look_up(rules, game, mover, tuples, starts, half, codes, memory[length])
            length += 1
        done += length
        # The last afterstate ends the round, so that its value is exact, or it is the last one in memory.
        target = values[length - 1, 0]
        for t in range(length - 2, -1, -1):
            greedy = values[t + 1, 1]
            target = greedy if values[t + 1, 2] else (1 - LAMBDA) * greedy + LAMBDA * target
            error = (target - values[t, 0]) * values[t, 3]
            for n in range(len(tuples)):
                place = memory[t, n]
                errors, sizes = weights[place, ERRORS], weights[place, SIZES]
                rate = abs(errors) / sizes if sizes > 0 else 1.0
                weights[place, WEIGHT] += STEP / len(tuples) * rate * error
                weights[place, ERRORS] += error
                weights[place, SIZES] += abs(error)
    return random, done


class Player:
    """A policy: chooses the action with the best value in the observation `afterstates`.

    Attributes:
        weights: float32 `[2 * M]`.
    """

    def __init__(self, ruleset, weights):
        """Copy the current weights."""
        self.weights = weights[:, WEIGHT].copy()
        self._tuples, self._starts, self._half = tuples_of(ruleset.num_holes)
        self._observer = Observer(ruleset, "afterstates")
        self._parts = board.parts(ruleset)

    def __call__(self, seen, legal):
        """Return the action of each game with the best afterstate, int64 `[B]`.

        Args:
            seen: Observations int16 `[B, A, G]`.
            legal: bool `[B, A]`.
        """
        rows = seen[legal].astype(np.int64)
        part = {name: rows[:, each.start : each.stop] for name, each in self._parts.items()}
        owned, stores = part["owned"], part["stores"]
        codes = np.minimum(part["seeds"], MOST_SEEDS)
        codes = np.where(owned > 0, MINE, np.where(owned < 0, THEIRS, codes))
        places = np.zeros((len(rows), len(self._tuples)), np.int64)
        for holes in self._tuples.T:
            places = np.where(holes >= 0, CODES * places + codes[:, holes], places)
        places += self._starts + self._half * part["to_move"]
        value = stores[:, 0] - stores[:, 1] + (owned * part["seeds"]).sum(axis=1)
        value = value + self.weights[places].sum(axis=1)
        lead = rows[:, self._observer.parts["lead"].start]
        values = np.full(legal.shape, -np.inf)
        values[legal] = np.where(part["end"][:, 0] != RUNNING, lead, value)
        return values.argmax(axis=1)


class Learner:
    """The weights, and the self-play that trains them."""

    def __init__(self, ruleset, seed):
        self.ruleset = ruleset
        self._rules = encode(ruleset)
        self._episodes = [
            encode_episode(1, opening_turns=turns, opening_set="training") for turns in range(1, 13)
        ]
        self.random = np.random.SeedSequence(seed).generate_state(1, np.uint64)[0]
        self._tuples, self._starts, self._half = tuples_of(ruleset.num_holes)
        self.weights = np.zeros((2 * self._half, 3), np.float32)
        self._memory = np.zeros((LONGEST, len(self._tuples)), np.int64)
        self._values = np.zeros((LONGEST, 4))
        self._scratch = np.zeros((2, len(self._tuples)), np.int64)

    def learn(self, turns):
        """Learn from games of `turns` turns in all, rounded up to whole games; returns their number."""
        # Use openings of every length, because regret is measured on positions that good play does not reach.
        episode = self._episodes[int(self.random) % len(self._episodes)]
        random, done = learn_from_games(
            self._rules, episode, self.random, turns, self.weights, self._tuples, self._starts,
            self._half, self._memory, self._values, self._scratch,
        )  # fmt: skip
        self.random = np.uint64(random)
        return done

    def agent(self):
        """Return an agent that plays with the current weights."""
        return agents.from_function(
            Player(self.ruleset, self.weights), self.ruleset, observation="afterstates", name="td"
        )

    def store(self, file, steps):
        """Write the state that `restore` needs."""
        part = file.with_suffix(".part.npz")
        np.savez(part, weights=self.weights, random=self.random, steps=steps)
        part.replace(file)

    def restore(self, file):
        """Read the state that `store` wrote; returns the number of steps."""
        with np.load(file) as stored:
            self.weights, self.random = stored["weights"], stored["random"][()]
            return int(stored["steps"])


def prepare(task, ruleset):
    """Compile the kernel."""
    Learner(ruleset, 0).learn(1)


def learn(task, ruleset, budget, seed, folder):
    """Train, and yield an agent at each measurement."""
    learner, file, steps = Learner(ruleset, seed), folder / "learner.npz", 0
    if file.is_file():
        steps = learner.restore(file)
        if not budget.resume(steps):
            learner, steps = Learner(ruleset, seed), 0
    at_once = min(AT_ONCE, budget.steps // 100) if budget.steps else AT_ONCE
    while budget.allows(steps + at_once + LONGEST):
        steps += learner.learn(at_once)
        if budget.is_due(steps):
            yield Point(learner.agent(), steps)
            learner.store(file, steps)
    yield Point(learner.agent(), steps)
