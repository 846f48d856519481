"""Generate the files of `configs/` that contain all defaults.

python -m tools.make_default_configs --write
"""

import sys

from mancala_env._util.command_line import Parser, in_one_line
from mancala_env._util.settings import Setting, in_yaml, settings_of
from mancala_env.training.config import CONFIGS, TrainConfig
from mancala_env.training.rllib.cluster_config import RayConfig

_HEADS = {
    "default.yaml": """\
# Every setting of a run. Made by: python -m tools.make_default_configs --write
# The other files here override some of these; the command line overrides both:
#   mancala train leyla --ppo.epochs 2 --minutes 5
""",
    "rllib.yaml": """\
# The settings that training on a Ray cluster adds to default.yaml.
# Made by: python -m tools.make_default_configs --write
#   python training/rllib_train.py --config configs/rllib.yaml --num_env_runners 16 --address auto
#   python training/rllib_train.py --config configs/leyla.yaml --minutes 30
""",
}


def generated() -> dict[str, str]:
    """Return the content of the generated files of configs/, by name."""
    settings = [*settings_of(TrainConfig)]
    known = {each.name for each in settings}
    added = [each for each in settings_of(RayConfig) if each.name not in known]
    return {
        "default.yaml": _HEADS["default.yaml"] + _to_yaml(settings),
        "rllib.yaml": _HEADS["rllib.yaml"] + _to_yaml(added),
    }


def _to_yaml(settings: list[Setting]) -> str:
    """Return a YAML file of the defaults, one commented line per setting."""
    lines, group = [], ""
    for each in settings:
        parent, _, name = each.name.rpartition(".")
        if parent != group:
            group = parent
            lines += ["", f"{group}:"]
        lines.append(f"{'  ' if parent else ''}{name}: {in_yaml(each.default)}  # {each.description}")
    return "\n".join(lines) + "\n"


@in_one_line("make_default_configs")
def main(arguments: list[str] | None = None) -> int:
    """Print or write the generated files and return the exit status."""
    parser = Parser(prog="python -m tools.make_default_configs", description=__doc__)
    parser.add_argument("--write", action="store_true", help=f"write the files to {CONFIGS}; else print them")
    is_wanted = parser.parse_args(arguments).write
    for name, text in generated().items():
        if is_wanted:
            (CONFIGS / name).write_text(text, "utf-8")
        else:
            print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
