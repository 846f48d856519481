"""Training of agents by self-play; `mancala train --help` lists all settings.

| module | content |
|---|---|
| `run` | `mancala train`: one command, one configuration, one folder of results |
| `config`, `config_groups` | every setting, from the command line and from files; names in other libraries |
| `schedule` | the clock of a run, its checkpoints and its learning rate |
| `hooks` | what runs before each rollout: metrics, checkpoints, evaluation |
| `rollout` | self-play: the environment and the rollout buffer |
| `ppo`, `policy` | the learner; its networks as a policy for MaskablePPO |
| `labels` | search labels during self-play, and a replay of them |
| `expert_labels`, `distillation` | positions labelled by a search; a fit to them before self-play |
| `pool` | opponents and snapshots that the learner plays |
| `run_folder` | the folder of a run and its files |
| `training_state`, `reproduce` | what a checkpoint holds to resume; the command that trained it |
| `loggers`, `progress_bar`, `selfplay_metrics` | metrics files; progress; statistics of self-play games |
| `run_results`, `run_report`, `run_plots` | results read from run folders; the report of a run; its plots |
| `seeds` | one configuration with several seeds |
| `value_growth`, `value_fit` | value networks trained from scratch: `mancala grow-value` |
| `rllib` | training on a Ray cluster |
"""
