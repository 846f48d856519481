"""The bundled trained networks, and the cards of all bundled networks."""

import hashlib
import re
from dataclasses import replace

import pytest
from error_checks import raises

from mancala_env import Batch, Position, agents, rulesets
from mancala_env._util.package_data import bundled_file, rulesets_with
from mancala_env.agents import InvalidSpec, Spec
from mancala_env.agents.registry import NoTrainedNetwork, bundled_policy, entrant_of
from mancala_env.evaluation import measure_regret, play_matches, regret_difference, stored_ladder
from mancala_env.evaluation.openings import openings_in_words, openings_to_evaluate
from mancala_env.networks.checkpoint import InvalidCheckpoint, read_identity

LAYLI = rulesets.lookup("layli_goobalay")
# Rulesets of the written sources (RULES 6).
OF_THE_SOURCES = [name for name in rulesets.names() if not name.startswith("ludii_")]


@pytest.mark.parametrize("name", OF_THE_SOURCES)
def test_every_ruleset_of_the_sources_has_a_trained_network(name: str) -> None:
    identity = read_identity(bundled_policy(rulesets.lookup(name)))
    assert identity.ruleset == rulesets.lookup(name)
    assert not [value for value in identity.config.values() if str(value).startswith("/")]  # no absolute path
    result = play_matches("trained", "greedy", name, games=100, seed=3)
    # The opening of gabata_3 decides every round.
    assert result.win_rate > 0.55 or name == "gabata_3", result


def test_it_is_nearer_to_perfect_play_than_a_search_of_four_turns() -> None:
    trained, search = (
        measure_regret(agents.make(spec, LAYLI, seed=1), LAYLI) for spec in ("trained", "minimax:4")
    )
    assert regret_difference(trained, search).mean < 0


@pytest.mark.parametrize("kind", ["policy", "value"])
def test_every_network_has_the_card_of_its_content(kind) -> None:
    assert rulesets_with(kind) == (rulesets.names() if kind == "value" else tuple(OF_THE_SOURCES))
    for name in rulesets_with(kind):
        path = bundled_file(kind, name)
        card = path.with_suffix(".md").read_text(encoding="utf-8")
        assert hashlib.sha256(path.read_bytes()).hexdigest() in card, f"the card of {path.name} is of another"
        assert re.search(rf"`(mancala (train|grow-value) {name}|python [^`]*--rulesets {name}`)", card)
        where = openings_in_words(*openings_to_evaluate(None, name, None))
        assert f"Matches from {where}, each" in card


@pytest.mark.parametrize("kind", ["policy", "value"])
def test_cards_rate_the_anchors_as_the_stored_ladder_does(kind) -> None:
    for name in rulesets_with(kind):
        ratings = stored_ladder(name).ratings()
        path = bundled_file(kind, name).with_suffix(".md")
        for anchor in ratings.names:
            row = " | ".join([f"`{anchor}`", *(f"{number:.0f}" for number in ratings.of(anchor))])
            assert f"| {row} |" in path.read_text(encoding="utf-8"), path.name


def test_a_spec_takes_the_bundled_network_or_a_file() -> None:
    path = bundled_policy(LAYLI)
    agent, named = (agents.make(spec, LAYLI) for spec in ("trained", f"trained:{path}"))
    assert (agent.spec, str(Spec.parse("trained"))) == ("trained", "trained")
    assert agent.entrant == named.entrant == entrant_of(agent)
    assert agent.entrant.startswith("trained:sha256:")
    assert agent.choose(Position(LAYLI)) == agents.make(str(path), LAYLI).choose(Position(LAYLI))


def test_it_plays_only_rulesets_of_the_same_rule_options() -> None:
    mine = replace(LAYLI, name="mine", title="Mine")
    assert agents.make("trained", mine).choose(Position(mine)) in range(6)
    with raises(NoTrainedNetwork, "mine", "mancala train"):
        agents.make("trained", replace(mine, seeds_per_hole=3))
    with raises(InvalidCheckpoint, "layli_goobalay", "leyla"):
        agents.make(f"trained:{bundled_policy(LAYLI)}", "leyla")
    with raises(InvalidSpec, "trained[:CHECKPOINT]"):
        Spec.parse("trained:")


@pytest.mark.parametrize("spec", ["sample", "policy+mcts:8"])
def test_kinds_that_take_a_checkpoint_take_the_bundled_one_where_none_is_named(spec: str) -> None:
    path = bundled_policy(LAYLI)
    agent, named = (agents.make(each, LAYLI, seed=3) for each in (spec, f"{spec}:{path}"))
    assert (agent.spec, agent.entrant) == (spec, named.entrant)
    assert agent.entrant.startswith(f"{spec}:sha256:")
    games = Batch(LAYLI, 16, opening_turns=4, seed=1).games
    assert (agent.act(games) == named.act(games)).all()
    assert play_matches(spec, "random", LAYLI, games=40, seed=3).win_rate > 0.7
    with raises(NoTrainedNetwork, "mine"):
        agents.make(spec, replace(LAYLI, name="mine", seeds_per_hole=3))
