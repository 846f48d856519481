"""The games as environments for PettingZoo, Gymnasium, Stable-Baselines3 and OpenSpiel.

| module | content |
|---|---|
| `aec` | `MancalaAEC`: two learners, for PettingZoo |
| `gym` | `MancalaEnv`: one learner against an agent, for Gymnasium |
| `vector` | `MancalaVectorEnv`: many such games stepped together, for Gymnasium |
| `sb3` | `MancalaVecEnv`: many such games stepped together, for Stable-Baselines3 |
| `open_spiel` | the rulesets as OpenSpiel games |
| `families` | the three games: their rulesets, PettingZoo modules and Gymnasium ids |
| `options` | `EnvOptions`: the arguments of every environment, checked; shared checks of resets |
| `opponents` | `Duel`: games of a learner in which agents play the other turns |
| `kernels` | compiled steps and resets |
| `spaces` | action spaces that sample legal actions; metadata |
| `guard` | `Guard`: PettingZoo's standard wrappers in one |
| `drawing` | what `render()` draws |
"""
