"""The command that bundles a trained network with its card."""

from dataclasses import replace
from pathlib import Path

import pytest
from error_checks import names

from mancala_env._util.package_data import bundled_file, rulesets_with
from mancala_env.networks.checkpoint import as_tensors, load_network, read_identity
from mancala_env.training.reproduce import made_by
from tools.make_policy_cards import main

SHIPPED = bundled_file("policy", "gabata_five_holes")


def test_a_checkpoint_is_bundled_with_a_card_of_its_weights(tmp_path: Path) -> None:
    assert main([str(SHIPPED), "--games", "10", "--folder", str(tmp_path)]) == 0
    assert (tmp_path / SHIPPED.name).read_bytes() == SHIPPED.read_bytes()
    written = (tmp_path / SHIPPED.name).with_suffix(".md").read_text(encoding="utf-8")
    kept = SHIPPED.with_suffix(".md").read_text(encoding="utf-8")
    before_matches = written.index("| agent |")
    assert written[:before_matches] == kept[:before_matches]
    for part in ("`mcts:1000` | 2 |", "Rating on the stored ladder", "Regret over", "Limits:"):
        assert part in written


@pytest.mark.parametrize("name", rulesets_with("policy"))
def test_a_card_names_the_command_that_makes_its_network_by_the_configurations_of_today(name: str) -> None:
    file = bundled_file("policy", name)
    way, how = made_by(read_identity(file))
    assert f"| {way} | `{how}` |" in file.with_suffix(".md").read_text(encoding="utf-8")


def test_what_no_command_makes_has_settings_that_a_shell_takes() -> None:
    identity = read_identity(SHIPPED)
    config = identity.config | {"seed": 7, "wandb": None, "turns": 50, "pool": {"opponents": ["a", "b"]}}
    way, how = made_by(replace(identity, config=config))
    assert (way, how.partition(" --")[0]) == ("command", "mancala train gabata_five_holes")
    for part in (" --seed 7 ", " --environment_steps 50 ", " --pool.opponents '[a, b]' "):
        assert part in how
    own = replace(identity, ruleset=replace(identity.ruleset, name="--help"), config={"seed": 7})
    assert made_by(own) == ("settings", "--seed 7")
    assert made_by(replace(identity, config={"ray": {"workers": 2}})) == ("settings", "--ray.workers 2")


def test_a_bundled_network_does_not_say_where_it_was_trained(tmp_path: Path) -> None:
    identity = read_identity(SHIPPED)
    elsewhere = replace(identity, config=identity.config | {"folder": "/home/somebody/runs"})
    path = tmp_path / "elsewhere.safetensors"
    path.write_bytes(as_tensors(elsewhere, load_network(SHIPPED, identity)))
    assert main([str(path), "--games", "10", "--folder", str(tmp_path)]) == 0
    assert (tmp_path / SHIPPED.name).read_bytes() == SHIPPED.read_bytes()
    assert "somebody" not in (tmp_path / SHIPPED.name).with_suffix(".md").read_text(encoding="utf-8")


def test_a_network_of_custom_rules_is_not_bundled(tmp_path: Path, capsys) -> None:
    identity = read_identity(SHIPPED)
    other = replace(identity, ruleset=replace(identity.ruleset, name="mine"))
    path = tmp_path / "other.safetensors"
    path.write_bytes(as_tensors(other, load_network(SHIPPED, identity)))
    with pytest.raises(SystemExit) as stopped:
        main([str(path), "--folder", str(tmp_path)])
    assert stopped.value.code == 2
    assert names(capsys.readouterr().err, "'mine'")
    assert not list(tmp_path.glob("policy_*"))


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--folder", "no/such"], ["--folder", "no/such"]),
        ([str(SHIPPED)], "gabata_five_holes"),
    ],
)
def test_an_error_is_reported_before_anything_is_measured(
    words: list[str], why: object, tmp_path: Path, capsys
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["--folder", str(tmp_path), str(SHIPPED), *words])
    assert stopped.value.code == 2
    assert names(capsys.readouterr().err, why)
