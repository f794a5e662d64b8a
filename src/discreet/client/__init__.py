"""A client of `discreet serve`: the library's verbs, for a table that stays where it is."""

from discreet.client.client import Client, Job, RequestError

__all__ = ["Client", "Job", "RequestError"]
