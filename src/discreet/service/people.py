"""Accounts of people: their keys, and the sessions of their browsers.

A key is 256 random bits, so a single SHA-256 protects it: nobody can try all of them. Keys and sessions are stored as
digests only, and compared in constant time. Revoking a key ends the sessions that it opened.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from dataclasses import dataclass, field
from typing import Any, Literal

from sqlalchemy import Connection, delete, func, insert, select, update

from discreet.errors import ParameterError
from discreet.service.log import note
from discreet.service.storage import Store, fact, keys, paged, people, sessions, write_fact

Role = Literal["analyst", "custodian"]
ROLES = ("analyst", "custodian")

HOURS = 12
"""Hours that a browser stays signed in."""

LONGEST = 100
"""Maximum number of characters of a name."""


@dataclass(frozen=True)
class Person:
    """Somebody who is signed in."""

    name: str
    role: Role
    form: str = field(default="", repr=False)
    """The CSRF token of their forms: empty for keys, which no other page can make a browser send."""

    @property
    def is_custodian(self) -> bool:
        """Whether they are a custodian of the tables."""
        return self.role == "custodian"


def digest(text: str) -> str:
    """Compute a SHA-256 digest."""
    return hashlib.sha256(text.encode()).hexdigest()


class People:
    """The people of a service."""

    def __init__(self, store: Store) -> None:
        self._store = store

    # ---------------------------------------------------------------- keys

    def new_key(self, name: str, role: Role, by: str) -> str:
        """Make a key for somebody, known or new, and return it; only its digest is stored."""
        name = _checked(name, role)
        id_, secret = secrets.token_hex(4), secrets.token_urlsafe(32)
        with self._store.writing() as connection:
            self._add(connection, name, role)
            connection.execute(
                insert(keys).values(id=id_, person=name, hash=digest(secret), since=time.time(), revoked=None)
            )
            note(connection, by, "made a key", person=name, role=role, key=id_)
        return f"dk_{id_}_{secret}"

    def _add(self, connection: Connection, name: str, role: Role) -> None:
        found = connection.execute(select(people.c.role).where(people.c.name == name)).scalar()
        if found is None:
            connection.execute(insert(people).values(name=name, role=role, since=time.time(), revoked=None))
        elif found != role:
            raise ParameterError(f"{name} is known as {found} already. Give the other role another name.")
        else:
            connection.execute(update(people).where(people.c.name == name).values(revoked=None))

    def of_key(self, key: str) -> tuple[Person, str] | None:
        """Return the owner of a key and its id; None if it is unknown or was revoked."""
        mark, _, rest = key.partition("_")
        id_, _, secret = rest.partition("_")
        joined = keys.join(people, keys.c.person == people.c.name)
        wanted = select(keys.c.hash, people.c.name, people.c.role).select_from(joined)
        wanted = wanted.where(keys.c.id == id_, keys.c.revoked.is_(None), people.c.revoked.is_(None))
        with self._store.reading() as connection:
            found = connection.execute(wanted).first()
        same = hmac.compare_digest(digest(secret), found.hash if found else digest("no such key"))
        return (Person(found.name, found.role), id_) if found and same and mark == "dk" else None

    def revoke_key(self, id_: str, by: str) -> bool:
        """Revoke a key; return whether there was one."""
        with self._store.writing() as connection:
            gone = connection.execute(
                update(keys).where(keys.c.id == id_, keys.c.revoked.is_(None)).values(revoked=time.time())
            ).rowcount
            connection.execute(delete(sessions).where(sessions.c.key == id_))
            if gone:
                note(connection, by, "revoked a key", key=id_)
        return bool(gone)

    def all_keys(self, page: int = 1) -> list[dict[str, Any]]:
        """Return a page of the keys without their secrets, the newest first."""
        joined = keys.join(people, keys.c.person == people.c.name)
        columns = keys.c.id, keys.c.person, people.c.role, keys.c.since, keys.c.revoked
        wanted = select(*columns).select_from(joined).order_by(keys.c.since.desc(), keys.c.id)
        with self._store.reading() as connection:
            found = connection.execute(paged(wanted, page))
            return [dict(row) for row in found.mappings()]

    # ---------------------------------------------------------------- sessions of browsers

    def sign_in(self, name: str, key: str | None, how: str) -> str:
        """Begin a session and return its token, for the browser's cookie."""
        token, form = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
        values = {"hash": digest(token), "person": name, "key": key, "form": form, "until": time.time() + HOURS * 3600}
        with self._store.writing() as connection:
            connection.execute(delete(sessions).where(sessions.c.until < time.time()))
            connection.execute(insert(sessions).values(**values))
            note(connection, name, "signed in", how=how)
        return token

    def known(self, name: str, role: Role, *, any_case: bool = False) -> str:
        """Record somebody whom an identity provider vouches for, and return their name here.

        Refuse people who were revoked; with `any_case`, for addresses, names are compared ignoring case.
        """
        name = _checked(name, role)
        same = func.lower(people.c.name) == name.lower() if any_case else people.c.name == name
        with self._store.writing() as connection:
            found = connection.execute(select(people).where(same).order_by(people.c.since)).all()
            if any(one.revoked is not None for one in found):
                raise ParameterError("This person may not use the service any more.")
            if not found:
                self._add(connection, name, role)
                return name
            if found[0].role != role:
                connection.execute(update(people).where(people.c.name == found[0].name).values(role=role))
                note(connection, found[0].name, "has another role", role=role)
            return str(found[0].name)

    def of_session(self, token: str) -> Person | None:
        """Return whose session it is; None if there is none or it has ended."""
        joined = sessions.join(people, sessions.c.person == people.c.name)
        wanted = select(people.c.name, people.c.role, sessions.c.form).select_from(joined)
        wanted = wanted.where(sessions.c.hash == digest(token), sessions.c.until > time.time())
        with self._store.reading() as connection:
            found = connection.execute(wanted.where(people.c.revoked.is_(None))).first()
        return None if found is None else Person(found.name, found.role, found.form)

    def sign_out(self, token: str) -> None:
        """End a session."""
        with self._store.writing() as connection:
            connection.execute(delete(sessions).where(sessions.c.hash == digest(token)))

    def revoke_person(self, name: str, by: str) -> bool:
        """End all keys and sessions of somebody for good; return whether there is such a person."""
        with self._store.writing() as connection:
            now, alive = time.time(), people.c.revoked.is_(None)
            gone = connection.execute(update(people).where(people.c.name == name, alive).values(revoked=now)).rowcount
            connection.execute(update(keys).where(keys.c.person == name, keys.c.revoked.is_(None)).values(revoked=now))
            connection.execute(delete(sessions).where(sessions.c.person == name))
            if gone:
                note(connection, by, "revoked a person", person=name)
        return bool(gone)


def server_secret(store: Store) -> str:
    """Return the secret of this service, made once, that signs the cookie of a sign-in under way."""
    with store.writing() as connection:
        found = fact(connection, "secret")
        if found is None:
            found = secrets.token_urlsafe(32)
            write_fact(connection, "secret", found)
    return found


def _checked(name: str, role: str) -> str:
    name = name.strip()
    if not 0 < len(name) <= LONGEST or not name.isprintable():
        raise ParameterError(f"A name has 1 to {LONGEST} characters that can be seen.")
    if role not in ROLES:
        raise ParameterError(f"A role is one of {', '.join(ROLES)}.")
    return name
