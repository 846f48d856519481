"""What a position is worth, by a network small enough to be asked at every leaf of a search.

:mod:`mancala_env.networks.value` is the network and the kernel that asks it, :mod:`mancala_env.networks.value_files`
its files and those that the package ships. Searches have it at their leaves, the observation ``"values"``
shows what it says.
"""
