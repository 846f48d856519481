"""The pages of the API reference, and the public names on each."""

from typing import NamedTuple


class Chapter(NamedTuple):
    """A page of the reference.

    Attributes:
        title: Its title.
        about: A sentence below the title, with paths relative to docs/api.
        modules: Public names of each module, in order; an empty tuple stands for all names of `__all__`.
    """

    title: str
    about: str
    modules: dict[str, tuple[str, ...]]


ALIASES = {"mancala_env.records": "mancala_env.games.records"}
"""Public names of modules that are defined elsewhere."""

CHAPTERS = {
    "games": Chapter(
        "Games",
        "One game and many games. [Environments](../guides/environments.md) lists what is built on them.",
        {
            "mancala_env": ("Position", "Turn", "Batch", "step", "start", "TimeStep"),
            "mancala_env.cuda": (),
            "mancala_env.engine.coordinates": ("hole_of", "action_of", "square_of", "hole_at"),
        },
    ),
    "rulesets": Chapter(
        "Rulesets",
        "The rules as data. [The rules](../reference/rules.md) explains each option.",
        {
            "mancala_env.rulesets": (
                "Ruleset",
                "RulesetLike",
                "lookup",
                "names",
                "MAX_TOTAL_SEEDS",
                "STALL_LIMIT",
            ),
            "mancala_env.rulesets.requirements": ("Requirement", "REQUIREMENTS"),
        },
    ),
    "environments": Chapter(
        "Environments",
        "The games for PettingZoo, Gymnasium, Stable-Baselines3 and OpenSpiel. "
        "[Environments](../guides/environments.md) helps you choose one.",
        {
            "mancala_env.layli_goobalay_v0": (),
            "mancala_env.leyla_v0": (),
            "mancala_env.gabata_v0": (),
            "mancala_env.envs.aec": ("MancalaAEC",),
            "mancala_env.envs.gym": ("MancalaEnv",),
            "mancala_env.envs.vector": ("MancalaVectorEnv",),
            "mancala_env.envs.sb3": ("MancalaVecEnv", "SelfPlayCallback"),
            "mancala_env.envs.open_spiel": ("load", "register", "MancalaGame", "MancalaState"),
            "mancala_env.envs.text": (
                "Task",
                "make_task",
                "Round",
                "Score",
                "sow_task",
                "move_task",
            ),
            "mancala_env.envs.prompts": ("prompt_of", "board_text", "legal_text", "parse_answer"),
            "mancala_env.envs.options": ("EnvOptions", "GameOptions", "OpponentOptions"),
        },
    ),
    "observations": Chapter(
        "Observations",
        "What a network sees of a game.",
        {"mancala_env.observations": ()},
    ),
    "agents": Chapter(
        "Agents",
        "Players of the games, bundled and your own. [Agents](../reference/agents.md) lists the specs.",
        {
            "mancala_env.agents": (),
            "mancala_env.agents.base": ("AgentSettings",),
            "mancala_env.agents.searchers": ("action_values",),
        },
    ),
    "search": Chapter(
        "Search",
        "Tree search with your own network. [Your network in the search](../guides/search.md) shows it.",
        {"mancala_env.search": ()},
    ),
    "solver": Chapter(
        "Solver",
        "Exact values of positions. [The solver](../explanation/solver.md) explains how it works.",
        {"mancala_env.solver": ()},
    ),
    "evaluation": Chapter(
        "Evaluation",
        "Matches, ratings and regret. [Evaluating agents](../guides/evaluate.md) explains the numbers.",
        {
            "mancala_env.evaluation": (),
            "mancala_env.evaluation.regret": ("PhaseRegret", "EvaluatedMove"),
            "mancala_env.evaluation.match_options": (
                "MatchOptions",
                "RoundRobinOptions",
                "EvaluationOptions",
            ),
            "mancala_env.evaluation.text_tasks": ("solved_tasks", "fixed_tasks", "hash_of", "summary"),
            "mancala_env.evaluation.ray_matches": ("RayChunks",),
        },
    ),
    "training": Chapter(
        "Training",
        "Self-play training from Python. [Training](../guides/train.md) explains runs and settings.",
        {
            "mancala_env.training.run": ("train", "TrainingDiverged"),
            "mancala_env.training.config": ("TrainConfig", "read_config", "InvalidConfig"),
            "mancala_env.training.hooks": ("TrainingRun", "Hook"),
            "mancala_env.training.run_folder": ("RunFolder",),
        },
    ),
    "networks": Chapter(
        "Networks and checkpoints",
        "Policy networks, their files, and value networks for searches.",
        {
            "mancala_env.networks.policy": ("NetworkConfig", "build_network", "InvalidNetwork"),
            "mancala_env.networks.checkpoint": (
                "read_identity",
                "load_network",
                "Identity",
                "InvalidCheckpoint",
            ),
            "mancala_env.networks.export": ("to_onnx", "to_safetensors"),
            "mancala_env.networks.value_files": ("read_value_file", "ValueFile", "NoValueNetwork"),
        },
    ),
    "records": Chapter(
        "Game records",
        "Games as text files. [Game records](../guides/records.md) has the grammar.",
        {"mancala_env.records": ()},
    ),
    "pictures": Chapter(
        "Pictures",
        "Images, animations, the events of a turn, and links to positions. "
        "[Pictures](../guides/pictures.md) has examples.",
        {
            "mancala_env.games.pictures": (
                "save",
                "FORMATS",
                "frames_of_turn",
                "game_frames",
                "write_gif",
                "write_mp4",
                "FfmpegMissing",
            ),
            "mancala_env.render.pixels": ("pixels_of",),
            "mancala_env.web.address": ("page_address",),
            "mancala_env.engine.timeline": ("Timeline", "Event", "KINDS"),
        },
    ),
    "benchmark": Chapter(
        "Benchmark",
        "Learning algorithms compared at equal budgets. [The benchmark](../guides/benchmark.md) explains it.",
        {"mancala_env.benchmark": ()},
    ),
    "errors": Chapter(
        "Errors",
        "Exceptions for invalid input. All are subclasses of `ValueError`.",
        {
            "mancala_env.errors": (
                "MancalaError",
                "InvalidArgument",
                "InvalidRuleset",
                "InvalidPosition",
                "IllegalMove",
            )
        },
    ),
}
"""The pages, by the name of their file."""
