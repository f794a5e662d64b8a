"""The custodian's configuration: tables with their schemas and accounts, storage, and who may sign in."""

from __future__ import annotations

import ipaddress
import os
import re
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from discreet.core.files import refuse_special
from discreet.domain import Domain
from discreet.domain.schema import read_toml
from discreet.errors import ParameterError

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$")]
"""The names of tables, which are part of URLs."""

LOCAL = ("127.0.0.1", "localhost")
LOOPBACK = (*LOCAL, "::1")

Secret = Annotated[str, Field(repr=False)]
"""A value, or the name of an environment variable that has it; never shown."""


_KEYWORDS = re.compile(r"(^|\s)(host|hostaddr|dbname|user|password|passfile|service)\s*=")


class _Closed(BaseModel):
    """The base of all settings; unknown entries are refused."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class TableSettings(_Closed):
    """A table that models may be requested of."""

    data: Secret
    table: Annotated[str | None, Field(repr=False)] = None
    engine: Literal["spark", "dask"] | None = None
    pushdown: bool = False
    schema_file: Annotated[str, Field(alias="schema")]
    account: str
    rows: Annotated[int, Field(gt=1, le=2**53)]
    delta: Annotated[float, Field(gt=0, lt=1)] | None = None
    most_epsilon: Annotated[float, Field(gt=0)] = 10.0
    most_coefficients: Annotated[int, Field(ge=1)] = 200
    approval: bool = False
    shared: bool = True
    about: str = ""

    @property
    def failure(self) -> float:
        """The delta of every release: 1/rows^2 unless another is configured."""
        return self.delta or 1 / self.rows**2


class Oidc(_Closed):
    """An identity provider; people who sign in there and are listed here may use the service."""

    issuer: str
    client_id: str
    client_secret: Secret
    name: str = "your organisation"
    claim: str = "email"
    analysts: tuple[str, ...] = ()
    custodians: tuple[str, ...] = ()


class ServiceSettings(_Closed):
    """The address, storage and load limits of the service."""

    host: str = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535)] = 8350
    public: str | None = None
    proxies: tuple[str, ...] = ()
    database: Secret = "service.db"
    ledger: Secret = "people.ledger"
    metrics_token: Annotated[str | None, Field(repr=False)] = None
    log: bool = True
    keep_days: Annotated[int, Field(ge=1)] | None = None
    workers: Annotated[int, Field(ge=0, le=64)] = 2
    step: Annotated[float, Field(gt=0, le=3600)] = 5.0
    preparation_seconds: Annotated[float, Field(gt=0, le=3600)] = 120.0
    preparation_megabytes: Annotated[int, Field(ge=128, le=2**20)] = 1024
    requests_a_minute: Annotated[int, Field(ge=10)] = 300
    unfinished_jobs: Annotated[int, Field(ge=1)] = 20


class Settings(_Closed):
    """A whole configuration.

    Parameters
    ----------
    service, tables, oidc
        The parts of the file.
    folder : Path
        The folder that paths in it are relative to.
    """

    service: ServiceSettings = ServiceSettings()
    tables: dict[Name, TableSettings] = {}
    oidc: Oidc | None = None
    folder: Path = Path()

    @classmethod
    def from_file(cls, path: str | Path) -> Settings:
        """Read a TOML file; the error lists all problems."""
        path = Path(path)
        refuse_special(path)
        facts = read_toml(path, "settings are a TOML file")
        if "folder" in facts:
            raise ParameterError(f"{path.name}: unknown entry 'folder'.")
        try:
            found = cls.of(facts | {"folder": path.absolute().parent})
        except ValidationError as error:
            lines = [f"- {'.'.join(map(str, one['loc']))}: {one['msg']}." for one in error.errors()]
            raise ParameterError(f"{path.name} cannot be used:", *lines) from None
        found.check()
        return found

    @classmethod
    def of(cls, facts: dict[str, Any]) -> Settings:
        """Validate parsed TOML, in which lists stand for tuples."""
        return cls.model_validate(_tuples(facts))

    def check(self) -> None:
        """Refuse unsafe settings."""
        if self.service.host not in LOCAL and not self.public_is_https:
            raise ParameterError(
                f"host = {self.service.host!r} is reached from other computers, and keys would travel in the clear. "
                "Keep host = '127.0.0.1' and put a reverse proxy with TLS in front (docs/howto/service.md); or, where "
                "the proxy is on another computer, set public = 'https://...', the address that people use."
            )
        for proxy in self.service.proxies:
            if not _is_address(proxy):
                raise ParameterError(
                    f"proxies: {proxy!r} is no address, as '127.0.0.1', and no network of some, as '172.30.0.0/24'. "
                    "What these say of a client's address is believed, so not everybody can be one; and names of "
                    "computers are not looked up."
                )
        if self.oidc is not None and not _is_safe(self.oidc.issuer):
            raise ParameterError(
                "[oidc] issuer must begin with https://, or be on this computer, for tests: what is fetched "
                "from it says who somebody is."
            )
        if self.oidc is not None and self.service.public is None:
            raise ParameterError("[oidc] needs public = 'https://...' in [service]: the provider sends people there.")

    @property
    def public_is_https(self) -> bool:
        """Whether people reach the service by TLS, so that cookies may be marked as secure."""
        return urlsplit(self.service.public or "").scheme == "https"

    def path(self, name: str) -> Path:
        """Return the path of a file that the settings name."""
        return self.folder / name

    def place(self, name: str) -> str:
        """Return a database: a URL, perhaps from the environment by ``$NAME``, or a file."""
        found = secret(name)
        self.refuse_keywords(found, "database or ledger")
        return found if "://" in found else str(self.path(found))

    def refuse_keywords(self, place: str, what: str) -> None:
        """Refuse a database in PostgreSQL's other notation, which would be taken, and shown, as the name of a file."""
        if _KEYWORDS.search(place) and not self.path(place).exists():
            raise ParameterError(
                f"{what}: this looks like keywords, as host=... password=..., and is no address. "
                "Write a database as postgresql://user:password@host/name."
            )

    @cached_property
    def domains(self) -> dict[str, Domain]:
        """Read the public facts of each table."""
        return {name: Domain.from_file(self.path(table.schema_file)) for name, table in self.tables.items()}


def _is_safe(issuer: str) -> bool:
    """Whether nobody on the way can change what a provider says."""
    parts = urlsplit(issuer)
    return bool(parts.hostname) and (parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in LOOPBACK))


def _is_address(proxy: str) -> bool:
    """Whether a text is an address of a proxy, or a network that does not hold all addresses."""
    try:
        return ipaddress.ip_network(proxy).prefixlen > 0
    except ValueError:
        return False


def secret(text: str) -> str:
    """Return a value, or that of an environment variable: ``$NAME``."""
    if not text.startswith("$"):
        return text
    found = os.environ.get(text[1:])
    if not found:
        raise ParameterError(f"The settings name {text}, and the environment has no such variable.")
    return found


def _tuples(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _tuples(inner) for key, inner in value.items()}
    return tuple(map(_tuples, value)) if isinstance(value, list) else value
