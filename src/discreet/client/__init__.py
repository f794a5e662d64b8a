"""A client of `discreet serve`: plans, releases and models of tables that stay on the server."""

from discreet.client.client import Client, Job, RequestError

__all__ = ["Client", "Job", "RequestError"]
