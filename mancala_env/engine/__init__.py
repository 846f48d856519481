"""The rules as compiled kernels. Every other package plays games with them.

| module | content |
|---|---|
| `state` | `Rules`, `Game`, `State`: the memory layout of rules and games |
| `board` | `Board`: the memory layout of seeds; laps; sets of holes |
| `turn` | a turn: legal holes, laps, landing, the end of a round (RULES 3 and 4) |
| `rounds` | the start of a match and of each next round (RULES 5 and 6) |
| `episode` | `EpisodeSettings`, the start of an episode, and `step`, which environments and batches call |
| `single_game` | kernels of one game, for `Position` and `mancala.wasm` |
| `timeline` | the events of a turn in order, for pictures |
| `validation` | checks whether a game can occur in a ruleset |
| `coordinates` | holes as actions, in sowing order, and as drawn |
| `holdout` | openings that are held out for evaluation |
| `rng` | random numbers inside kernels |
| `jit` | compilation, cache, threads and signals |
"""
