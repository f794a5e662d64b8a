"""Client of a service: sends requests for plans, releases and models, and fetches their results."""

from __future__ import annotations

import io
import json
import os
import secrets
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import pyarrow as pa
import pyarrow.csv

from discreet.core.scratch import Scratch
from discreet.domain import Domain
from discreet.errors import DiscreetError, ParameterError
from discreet.results.private_moments import PrivateMoments
from discreet.results.saved import Saved, load_saved

try:
    import httpx2
except ImportError:
    raise ParameterError('The client needs httpx2: pip install "discreet[service]"') from None

KEY = "DISCREET_KEY"
"""The environment variable that holds a key."""

LOCAL = ("127.0.0.1", "::1", "localhost")
PAUSE = 0.5
"""Seconds between two polls of a request."""


class RequestError(DiscreetError):
    """A refusal by the service, in its own words, or a service that does not answer."""


class Client:
    """A service, as one analyst sees it.

    Parameters
    ----------
    address : str
        Its URL: ``https://...``, or ``http://127.0.0.1:8350`` on the same computer.
    key : str, optional
        The analyst's key; by default `DISCREET_KEY` of the environment.
    """

    def __init__(self, address: str, key: str | None = None) -> None:
        parts = urlsplit(address)
        if parts.scheme != "https" and parts.hostname not in LOCAL:
            raise ParameterError("A key is sent by https:// only, but for services on this computer.")
        key = key or os.environ.get(KEY)
        if not key:
            raise ParameterError(f"Give key=, or set {KEY} in the environment.")
        headers = {"Authorization": f"Bearer {key}"}
        self._http = httpx2.Client(base_url=address.rstrip("/"), headers=headers, timeout=60, follow_redirects=False)
        self.address = address

    def __repr__(self) -> str:
        return f"Client({self.address!r})"

    # ---------------------------------------------------------------- tables

    def tables(self) -> list[dict[str, Any]]:
        """Return all tables, with what is left of their budgets."""
        return list(self._json("GET", "/v1/tables"))

    def table(self, name: str) -> dict[str, Any]:
        """Return a table, with its schema."""
        return dict(self._json("GET", f"/v1/tables/{quote(name, safe='')}"))

    def domain(self, name: str) -> Domain:
        """Return the public facts about a table, for `discreet.plan` and `discreet.formula`."""
        return Domain.from_dict(self.table(name)["schema"])

    def synthetic(self, name: str, rows: int = 1000, seed: int = 0) -> pa.Table:
        """Return made-up rows, generated from the schema alone."""
        asked = {"rows": rows, "seed": seed}
        content = self._send("GET", f"/v1/tables/{quote(name, safe='')}/synthetic", params=asked).content
        return pyarrow.csv.read_csv(io.BytesIO(content))

    def releases(self, name: str) -> list[dict[str, Any]]:
        """Return the releases of a table that models can be fitted to for free."""
        return list(self._json("GET", f"/v1/tables/{quote(name, safe='')}/releases"))

    # ---------------------------------------------------------------- the library's verbs

    def quote(self, table: str, formula: str, *, epsilon: float, **options: Any) -> dict[str, Any]:
        """Return the cost of a model, whether the budget holds it, and which releases serve it for free."""
        asked = {"kind": "fit", "table": table, "formula": formula, "epsilon": epsilon, **options}
        return dict(self._json("POST", "/v1/quote", json=asked))

    def plan(self, table: str, formula: str, *, epsilon: float, **options: Any) -> dict[str, Any]:
        """Predict the accuracy of a model from public facts and guesses: free.

        Guesses are ``r_squared=0.4`` and ``about=["age.sd=18", "sex.shares=0.5,0.5"]``.
        """
        job = self.ask("plan", table=table, formula=formula, epsilon=epsilon, **options)
        return dict(json.loads(job.file("plan.json")))

    def try_out(self, table: str, formula: str, *, epsilon: float, **options: Any) -> Job:
        """Fit a model to made-up rows: free, and it says nothing about the real ones."""
        return self.ask("try", table=table, formula=formula, epsilon=epsilon, **options)

    def fit(self, table: str, formula: str, *, epsilon: float, **options: Any) -> Job:
        """Fit a private model of a table; free where an earlier release serves it as well.

        Parameters
        ----------
        table, formula : str
            The table and the model.
        epsilon : float
            The epsilon of the release; delta is the table's.
        **options
            ``method=``, ``purpose=``, ``reuse=``; and those of `ask`: ``reference=``, ``wait=``.
        """
        return self.ask("fit", table=table, formula=formula, epsilon=epsilon, **options)

    def release(self, table: str, formulas: str | Sequence[str], *, epsilon: float, **options: Any) -> Job:
        """Release the statistics that the models of some formulas need, once: `Job.release`."""
        texts = [formulas] if isinstance(formulas, str) else list(formulas)
        return self.ask("release", table=table, formulas=texts, epsilon=epsilon, **options)

    def model(self, table: str, release: str, formula: str, **options: Any) -> Job:
        """Fit a model to an existing release, by its id: free."""
        return self.ask("model", table=table, release=release, formula=formula, **options)

    # ---------------------------------------------------------------- requests

    def ask(self, kind: str, *, reference: str | None = None, wait: float | None = 600.0, **asked: Any) -> Job:
        """Send a request.

        Parameters
        ----------
        kind : str
            ``"fit"``, ``"release"``, ``"model"``, ``"plan"`` or ``"try"``.
        reference : str, optional
            A name for the request: sent again under it, it is neither run nor paid for a second time.
        wait : float, optional
            Seconds to wait for it to end; None returns at once.
        **asked
            The fields of the request.
        """
        headers = {"Idempotency-Key": reference or secrets.token_urlsafe(24)}
        job = Job(self, self._json("POST", "/v1/jobs", json={"kind": kind, **asked}, headers=headers))
        return job if wait is None else job.wait(wait)

    def jobs(self, page: int = 1) -> list[Job]:
        """Return your requests, the newest first, 100 on a page."""
        return [Job(self, facts) for facts in self._json("GET", "/v1/jobs", params={"page": page})]

    def job(self, id_: str) -> Job:
        """Return one of your requests."""
        return Job(self, self._json("GET", f"/v1/jobs/{quote(id_, safe='')}"))

    def _json(self, method: str, path: str, **options: Any) -> Any:
        return self._send(method, path, **options).json()

    def _send(self, method: str, path: str, **options: Any) -> httpx2.Response:
        try:
            answer = self._http.request(method, path, **options)
        except httpx2.HTTPError as error:
            raise RequestError(f"{self.address} does not answer: {type(error).__name__}.") from None
        if answer.is_success:
            return answer
        try:
            words = str(answer.json()["detail"])
        except (ValueError, KeyError, TypeError):
            words = f"The service answered {answer.status_code}."
        raise RequestError(*words.split("\n"))


class Job:
    """A request and its results."""

    def __init__(self, client: Client, facts: dict[str, Any]) -> None:
        self._client, self.facts = client, facts

    def __repr__(self) -> str:
        return f"Job({self.id!r}, {self.facts['kind']} of {self.facts['table']}, {self.state})"

    @property
    def id(self) -> str:
        """The id of the request."""
        return str(self.facts["id"])

    @property
    def state(self) -> str:
        """The state of the request when it was last fetched."""
        return str(self.facts["state"])

    @property
    def free(self) -> bool:
        """Whether the request cost nothing."""
        return self.facts["price"] is None

    def look(self) -> Job:
        """Fetch the request again."""
        return self._client.job(self.id)

    def wait(self, seconds: float = 600.0) -> Job:
        """Wait until the request is done and return it; if it ends otherwise, raise an error in the service's words."""
        until, job = time.monotonic() + seconds, self
        while not job.facts["over"]:
            if time.monotonic() > until:
                raise RequestError(f"The request is still {job.state}. Look again later: client.job({self.id!r}).")
            time.sleep(PAUSE)
            job = job.look()
        if job.state != "done":
            raise RequestError(*(job.facts["answer"] or f"The request was {job.state}.").split("\n"))
        return job

    def cancel(self) -> Job:
        """Cancel the request, if it has not started yet."""
        return Job(self._client, self._client._json("DELETE", f"/v1/jobs/{self.id}"))

    def file(self, name: str) -> str:
        """Return the text of one of its files."""
        return str(self._client._send("GET", f"/v1/jobs/{self.id}/files/{name}").text)

    def save(self, name: str, path: str | Path) -> None:
        """Write one of its files to a file."""
        Path(path).write_text(self.file(name), encoding="utf-8")

    @property
    def results(self) -> Saved:
        """The fitted model."""
        return self._loaded("results.json")

    @property
    def release(self) -> PrivateMoments:
        """The release, for any number of models."""
        found = self._loaded("release.json")
        assert isinstance(found, PrivateMoments)
        return found

    @property
    def report(self) -> str:
        """The report, as HTML."""
        return self.file("report.html")

    @property
    def certificate(self) -> dict[str, Any]:
        """The certificate: the guarantee, and what was released."""
        return dict(json.loads(self.file("certificate.json")))

    def _loaded(self, name: str) -> Saved:
        with Scratch() as folder:
            self.save(name, folder / name)
            return load_saved(folder / name)
