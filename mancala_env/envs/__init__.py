"""The games as environments: PettingZoo, Gymnasium, Stable-Baselines3, OpenSpiel, language models.

| module | content |
|---|---|
| `aec` | `MancalaAEC`: two learners, for PettingZoo |
| `gym` | `MancalaEnv`: one learner against an agent, for Gymnasium |
| `vector` | `MancalaVectorEnv`: many games of one learner, stepped together, for Gymnasium |
| `sb3` | `MancalaVecEnv`: many games of one learner for Stable-Baselines3; `SelfPlayCallback` |
| `open_spiel` | the rulesets as OpenSpiel games |
| `text` | positions as prompts for language models, with exact rewards; `Round`: a round by text |
| `prompts` | the words of these prompts, and the answer in a reply |
| `families` | the three games: their rulesets, PettingZoo modules and Gymnasium ids |
| `options` | `EnvOptions`: the checked arguments of every environment; shared checks of resets |
| `opponents` | `Duel`: games of a learner in which agents play the opponent's turns |
| `kernels` | compiled steps and resets |
| `spaces` | action spaces that sample legal actions; metadata |
| `guard` | `Guard`: PettingZoo's three standard wrappers as one class |
| `drawing` | what `render()` draws |
"""
