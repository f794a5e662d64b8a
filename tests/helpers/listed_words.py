"""Random words that a test chooses."""

import numpy as np


class Listed:
    """An Entropy that hands out the given words in order and refuses to go on after the last."""

    simulation = True

    def __init__(self, *words):
        self.left = list(words)

    def words(self, n):
        taken, self.left = self.left[:n], self.left[n:]
        assert len(taken) == n, "more words were drawn than were given"
        return np.array(taken, dtype=np.uint64)
