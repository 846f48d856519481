"""Settings: errors of one line, and generated files in configs/ that are up to date."""

import inspect
import shlex
import time
from pathlib import Path

import pytest
import yaml
from error_checks import raises

pytest.importorskip("ray", reason="Ray is not installed: mancala-env[ray]")
from ray.rllib.algorithms.ppo import PPOConfig as RLlibPPOConfig
from sb3_contrib import MaskablePPO

from mancala_env import rulesets
from mancala_env._util.settings import InvalidSetting, flat, settings_of
from mancala_env.networks.checkpoint import InvalidCheckpoint
from mancala_env.training import run as command
from mancala_env.training.config import (
    CONFIGS,
    REMOVED,
    InvalidConfig,
    PPOConfig,
    TrainConfig,
    make_parser,
    read_config,
    read_file,
    read_settings,
)
from mancala_env.training.config_groups import RLLIB, STABLE_BASELINES3, renamed
from mancala_env.training.rllib.cluster_config import RayConfig
from mancala_env.training.schedule import Clock
from tools.make_default_configs import generated

OLD_RUN = Path(__file__).parents[1] / "data" / "run_of_format_1"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("--ppo.learning_rate -1", "ppo.learning_rate must be a finite number, at least 0, not -1.0"),
        ("--ppo.learning_rate=nan", "ppo.learning_rate must be a finite number, at least 0, not nan"),
        ("--ppo.learning_rate -inf", "ppo.learning_rate must be a finite number, at least 0, not -inf"),
        ("--ppo.clip_range -1e-1", "ppo.clip_range must be a finite number, above 0, not -0.1"),
        ("--ppo.max_grad_norm 0", "ppo.max_grad_norm must be a finite number, above 0, not 0.0"),
        ("--ppo.epochs 1.5", "ppo.epochs must be a whole number, 1 to 10,000, not '1.5'"),
        ("--ppo.epochs many", "ppo.epochs must be a whole number, 1 to 10,000, not 'many'"),
        ("--ppo.epochs true", "ppo.epochs must be a whole number, 1 to 10,000, not 'true'"),
        ("--seed -1", "seed must be a whole number, 0 to 2,147,483,647, not -1"),
        ("--seed 99999999999", "seed must be a whole number, 0 to 2,147,483,647, not 99999999999"),
        ("--seed " + "9" * 5000, "seed must be a whole number, 0 to 2,147,483,647, not '999"),
        ("--seed 2026-13-45", "seed must be a whole number, 0 to 2,147,483,647, not '2026-13-45'"),
        (
            "--environment_steps 1:30",
            "environment_steps must be a whole number, at least 1, or null, not '1:30'",
        ),
        (
            "--environment_steps 010",
            "environment_steps must be a whole number, at least 1, or null, not '010'",
        ),
        ("--ppo.epochs 1_000", "ppo.epochs must be a whole number, 1 to 10,000, not '1_000'"),
        ("--ppo.epochs \u0663", "ppo.epochs must be a whole number, 1 to 10,000, not '\u0663'"),
        ("--minutes 1_0", "minutes must be a finite number, above 0, or null, not '1_0'"),
        ("--minutes \u0663", "minutes must be a finite number, above 0, or null, not '\u0663'"),
        ("--minutes 1:30", "minutes must be a finite number, above 0, or null, not '1:30'"),
        ("--minutes inf", "minutes must be a finite number, above 0, or null, not inf"),
        ("--environment_steps=", "environment_steps must be a whole number, at least 1, or null, not ''"),
        ("--minutes=--", "--minutes=--"),
        ("--folder=", "folder must be text, not ''"),
        ("--minutes 0", "minutes must be a finite number, above 0, or null, not 0.0"),
        ("--rounds some", "rounds must be a whole number, 1 to 1,000, or match, not 'some'"),
        ("--network.hidden 0", "network.hidden must be a whole number, 1 to 4,096, not 0"),
        (
            "--network.observation pixels",
            "network.observation must be one of board, afterstates, replies, li",
        ),
        ("--evaluation.games 7", "evaluation.games must be an even whole number, 2 to 10,000,000, not 7"),
        ("--pool.opponents random", "pool.opponents must be a list such as [random, greedy], not 'random'"),
        ("--name ..", "name must be that of a folder, without a path, not '..'"),
        ("--selfplay.games 1 --ppo.steps 1", "ppo.steps times selfplay.games must be 2 or more, not 1"),
        ("--name a\x1bb", "name must be that of a folder, without a path, not 'a\\x1bb'"),
        ("--evaluation.opponents [random,greedy,random]", "must name each agent once, not random twice"),
        ("--name a/b", "name must be that of a folder, without a path, not 'a/b'"),
        ("--ppo.steps 65536", "ppo.steps times selfplay.games must be at most 16,777,216"),
        ("--turns 5", "no option --turns; its new name is --environment_steps"),
        ("--ppo.epoch 5", "unknown option --ppo.epoch (did you mean '--ppo.epochs'"),
        ("--config nowhere.yaml", "the configuration nowhere.yaml cannot be read"),
        ("layli", "unknown configuration or ruleset 'layli' (did you mean 'leyla' or 'layli_goobalay'"),
        ("--ruleset " + "x" * 5000, f"unknown ruleset '{'x' * 57}...'"),
        ("leyla --resume runs/leyla", "leyla and --resume exclude each other"),
        (
            f"--resume '{OLD_RUN}' --name other",
            "--name and --resume exclude each other: a run stays",
        ),
        (f"--resume '{OLD_RUN}' --folder other", "--folder and --resume exclude each other: a run stays"),
    ],
)
def test_a_wrong_value_is_one_line_that_names_it_and_the_range(
    words: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert command.main(shlex.split(words)) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("mancala train: ")
    assert says in line
    assert not list(tmp_path.iterdir()), "nothing was begun"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("a: &a [x]\nb: *a", "aliases"),
        ("name: " + "[" * 20_000, "cannot be read"),
        ("seed: 0x" + "f" * 9_000, "seed must be a whole number, 0 to 2,147,483,647, not '0xffff"),
        ("# " + "x" * 70_000, "it has more than 65,536 bytes"),
        ("name: !!python/object/apply:os.mkdir [planted]", "name must be text, or null, not ['planted']"),
        ("device: [" + "x" * 5_000 + "]", "..."),
        ('name: "\\0"', r"name must be that of a folder, without a path, not '\x00'"),
        ("ppo: {epochs: 2}\nppo: {steps: 8}", "duplicate key ppo"),
        ("ppo: {epochs: 2, epochs: 3}", "duplicate key epochs"),
        ("minutes: 1:30", "minutes must be a finite number, above 0, or null, not '1:30'"),
    ],
    ids=["alias", "depth", "digits", "size", "python", "long", "null", "group", "setting", "clock"],
)
def test_a_configuration_made_to_do_harm_is_refused_in_one_line(
    content: str,
    says: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config.yaml").write_text(content, encoding="utf-8")
    assert command.main(["--config", "config.yaml"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert says in line
    assert len(line) < 1_000
    assert [path.name for path in tmp_path.iterdir()] == ["config.yaml"]


def test_only_the_command_that_takes_seeds_offers_them() -> None:
    assert "--seeds" in make_parser("mancala train").format_usage()
    assert "--seeds" not in make_parser("rllib_train.py", RayConfig).format_help()


def test_every_range_is_held() -> None:
    plain = flat(TrainConfig().as_dict())
    held = 0
    for each in settings_of(TrainConfig):
        meaning = each.meaning
        for wrong in (
            None if meaning.low is None else meaning.low - 1,
            None if meaning.high is None else meaning.high + 1,
            meaning.above,
        ):
            if wrong is not None:
                with raises(InvalidConfig, each.name, wrong):
                    read_settings(plain | {each.name: wrong})
                held += 1
    assert held > 50


def test_a_configuration_made_in_python_is_checked_too() -> None:
    with raises(InvalidSetting, "ppo.learning_rate", 0, -1):
        TrainConfig(ppo=PPOConfig(learning_rate=-1))
    assert TrainConfig().as_dict() == read_config(
        ["--name", "null", "--config", str(CONFIGS / "default.yaml")]
    )[0].as_dict() | {"name": None}


@pytest.mark.generated
def test_generated_files_are_not_stale() -> None:
    for name, text in generated().items():
        assert (CONFIGS / name).read_text(encoding="utf-8") == text, (
            "python -m tools.make_default_configs --write"
        )
    assert yaml.safe_load((CONFIGS / "default.yaml").read_text(encoding="utf-8")) == TrainConfig().as_dict()


def test_the_other_files_hold_only_what_differs() -> None:
    defaults = {each.name: each.default for each in settings_of(TrainConfig)}
    others = sorted(set(CONFIGS.glob("*.yaml")) - {CONFIGS / name for name in generated()})
    assert len(others) > 9
    for path in others:
        for name, value in read_file(path).items():
            assert name == "ruleset" or value != defaults[name], f"{path.name}: {name}"


def test_help_gives_the_meaning_range_and_default_of_each(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        command.main(["--help"])
    assert ended.value.code == 0
    said = " ".join(capsys.readouterr().out.split())
    for each in settings_of(TrainConfig):
        assert f"--{each.name} " in said
        assert each.meaning.text in said
    assert "Number of passes over a rollout; a whole number, 1 to 10,000 (default: 3)" in said


def test_a_name_is_that_of_a_configuration_or_of_a_ruleset() -> None:
    leyla, _ = read_config(["leyla", "--minutes", "5"])
    assert (leyla.ruleset, leyla.name, leyla.network.observation, leyla.minutes) == (
        "leyla",
        "leyla",
        "values",
        5,
    )
    assert not (CONFIGS / "ludii_leyla.yaml").exists()
    plain, _ = read_config(["--minutes", "5", "ludii_leyla"])
    assert (plain.ruleset, plain.name, plain.network.observation) == ("ludii_leyla", "ludii_leyla", "replies")
    for name in rulesets.names():
        assert read_config([name])[0].ruleset == name


def test_files_count_in_their_order_and_the_command_line_most(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("ppo: {epochs: 5, steps: 7}\nseed: 4\n", encoding="utf-8")
    (tmp_path / "b.yaml").write_text("ppo: {epochs: 6, learning_rate: 1e-4}\nnetwork:\n", encoding="utf-8")
    files = ["--config", str(tmp_path / "a.yaml"), "--config", str(tmp_path / "b.yaml")]
    config, _ = read_config(["--seed", "9", *files])
    assert (config.ppo.epochs, config.ppo.steps, config.seed) == (6, 7, 9)
    assert config.ppo.learning_rate == 0.0001
    assert config.name == "b"


def test_files_of_earlier_versions_are_read_by_their_old_names() -> None:
    config, resumed = read_config(["--resume", str(OLD_RUN)])
    assert resumed == OLD_RUN
    old = yaml.safe_load((OLD_RUN / "config.yaml").read_text(encoding="utf-8"))
    assert config.environment_steps == old["turns"] == 512
    assert config.pool.share == old["pool"]["share"] == 0.25
    assert old["pool"]["promotion"] == 0.55, "removed, and ignored"
    assert config.distillation.batch_size == old["teacher"]["batch_size"]
    assert config.ppo.steps == old["ppo"]["steps"] == 4


def test_a_removed_setting_is_read_only_with_the_value_it_always_has(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    for name, fixed in REMOVED.items():
        file.write_text(yaml.safe_dump({name: fixed}), encoding="utf-8")
        assert name not in read_file(file)
        file.write_text(yaml.safe_dump({name: 71}), encoding="utf-8")
        with raises(InvalidConfig, name, 71, file):
            read_file(file)
        with raises(InvalidConfig, f"--{name}", "removed"):
            read_config([f"--{name}", "71"])
    file.write_text("pool: {priority: 1}", encoding="utf-8")  # as version 0.1 wrote it
    assert "pool.priority" not in read_file(file)
    with raises(InvalidConfig, "--pool.gating", "removed"):
        read_config(["--pool.gating", "0.5"])


def test_both_libraries_know_the_names_their_settings_are_given() -> None:
    assert set(STABLE_BASELINES3.values()) <= set(inspect.signature(MaskablePPO).parameters)
    assert set(RLLIB.values()) <= set(inspect.signature(RLlibPPOConfig.training).parameters) | set(
        inspect.signature(super(RLlibPPOConfig, RLlibPPOConfig).training).parameters
    )
    assert renamed(PPOConfig(entropy=0.25), STABLE_BASELINES3)["ent_coef"] == 0.25
    settable = {each.name for each in settings_of(PPOConfig)}
    assert settable - {"learning_rate", "final_learning_rate"} == set(STABLE_BASELINES3)
    assert set(RLLIB) <= settable


def test_labels_of_a_file_give_way_to_what_the_command_line_asks_for() -> None:
    by_outcome = ["--rounds", "match", "--expert.search_share", "0"]
    asked = {
        0.1: [[], ["--rounds", "1"], by_outcome],
        0.0: [["--rounds", "match"], ["--rounds", "2"]],
        0.2: [["--expert.share", "0.2"]],
    }
    for share, commands in asked.items():
        for words in commands:
            assert read_config(["leyla", *words])[0].expert.share == share, words
    on_ray, _ = read_config(["leyla"], RayConfig)
    assert (on_ray.expert.share, on_ray.distillation.positions, on_ray.pool.share) == (0, 0, 0)
    with raises(InvalidConfig, "expert.search_share", 0, "match"):
        read_config(["leyla", "--rounds", "match", "--expert.share", "0.1"])


def test_alphazero_of_version_0_1_is_told_where_it_went(tmp_path: Path) -> None:
    where = "training/benchmark/alphazero.py"
    (tmp_path / "config.yaml").write_text(
        "algorithm: alphazero\nalphazero: {simulations: 8}\n", encoding="utf-8"
    )
    with raises(InvalidConfig, where, tmp_path) as error:
        read_config(["--resume", str(tmp_path)])
    assert "\n" not in str(error.value)
    for word in ("--algorithm", "--alphazero.simulations"):
        with raises(InvalidConfig, where, word):
            read_config([word, "8"])


def test_a_run_of_ppo_of_version_0_1_resumes(tmp_path: Path) -> None:
    before = "algorithm: ppo\nalphazero: {simulations: 8}\nppo: {epochs: 7}\n"
    (tmp_path / "config.yaml").write_text(before, encoding="utf-8")
    config, resumed = read_config(["--resume", str(tmp_path)])
    assert (config.ppo.epochs, resumed) == (7, tmp_path)
    assert "alphazero" not in config.to_yaml()


def test_what_is_set_for_ray_is_checked_alike() -> None:
    with raises(InvalidConfig, "num_gpus_per_learner", 0, -1.0):
        read_config(["--num_gpus_per_learner", "-1"], RayConfig)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--expert.share", "0.5"], ["expert.share", 0, 0.5]),
        (["--clock", "cpu"], ["clock", "wall"]),
    ],
)
def test_what_ray_has_not_is_refused(words: list[str], says: str) -> None:
    with raises(InvalidConfig, says):
        read_config(words, RayConfig)


def test_minutes_of_the_processor_count_the_processor_time_of_the_process() -> None:
    before = time.process_time()
    wall, cpu = (Clock(TrainConfig(clock=kind, minutes=1.0), 30.0) for kind in ("wall", "cpu"))
    began = time.process_time()
    time.sleep(0.5)
    assert wall.seconds >= 30.5
    # Threads of other tests can compute in the meantime, so that the bounds are measured, too.
    least = time.process_time() - began
    seconds = cpu.seconds
    part_done = cpu.part_done(0)
    most = time.process_time() - before
    assert 30 + least <= seconds <= 60 * part_done <= 30 + most


@pytest.mark.parametrize(
    ("minutes", "steps", "said"),
    [
        (10.0, None, "10 minutes"),
        (1.0, None, "1 minute"),
        (None, 2048, "2,048 environment steps"),
        (0.5, 1_000_000, "0.5 minutes or 1,000,000 environment steps"),
    ],
)
def test_when_a_run_ends_in_words(minutes: float | None, steps: int | None, said: str) -> None:
    assert TrainConfig(minutes=minutes, environment_steps=steps).limit_in_words == said


def test_a_range_is_said_with_both_its_ends() -> None:
    with raises(InvalidConfig, "distillation.share", 0, 1, 1.5):
        read_config(["--distillation.share", "1.5"])


def test_an_opponent_of_single_rounds_is_refused_where_matches_are_learned():
    words = ["--ruleset", "gabata_i", "--rounds", "match", "--pool.share", "0.5"]
    words += ["--pool.opponents", "[trained]"]
    with raises(InvalidCheckpoint, 0, 5, "rounds='match'", 11):
        command.check_agents(read_config(words)[0])


def test_the_folder_of_a_checkpoint_is_named_to_resume_from_it(tmp_path):
    checkpoint = tmp_path / "final.zip"
    checkpoint.write_bytes(b"")
    with raises(InvalidConfig, checkpoint, f"--resume {tmp_path}"):
        read_config(["--resume", str(checkpoint)])
    with raises(InvalidConfig, tmp_path / "none") as caught:
        read_config(["--resume", str(tmp_path / "none")])
    assert "give the folder" not in str(caught.value)
