"""Methods of other people that the comparison runs, one file each, written from their papers or calling their packages.

All take rows with norms of at most 1 and outcomes of at most 1, as wang2018's protocol has them.
"""
