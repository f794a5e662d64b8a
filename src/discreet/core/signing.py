"""Signatures of saved documents: they prove who made a file and that it is unchanged.

A digest detects damage only: whoever edits a file can recompute it. A signature needs the custodian's private key. It
is stored beside the document, in ``FILE.sig``, so that the document is unchanged and programs without signatures can
still read it. The signature covers the content in canonical form, so it survives a change of layout.
"""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

from discreet.core.field_kinds import TEXT
from discreet.core.fields import DocumentFields, FieldKind, fixed
from discreet.core.files import (
    KINDS,
    Document,
    Source,
    atomic_write,
    canonical,
    load_document,
    read_document,
    write_document,
)
from discreet.errors import FileFormatError, ParameterError

ENDING = ".sig"
ALGORITHM = "Ed25519"
PASSPHRASE = "DISCREET_KEY_PASSPHRASE"
"""The environment variable that holds the passphrase of a private key."""

_CONTEXT = b"discreet signature 1\n"
"""Prefix of every signed message, so that signatures made for other purposes are not valid here."""

_UNSIGNED = "Not signed: whoever edits a file can compute its digest anew, so forgery cannot be excluded."

_BYTES = FieldKind(
    TEXT.schema,
    TEXT.fits,
    lambda text: base64.b64decode(text, validate=True),
    lambda value: base64.b64encode(value).decode("ascii"),
)
_FIELDS = DocumentFields(
    "signature",
    "An Ed25519 signature, beside the file that it is of.",
    (1,),
    algorithm=fixed(ALGORITHM),
    public_key=_BYTES("32 bytes in base64."),
    value=_BYTES("64 bytes in base64."),
)

Ask = Callable[[], str]


@dataclass(frozen=True)
class Signature:
    """A signature as its file holds it, and the public key that it claims to be made with."""

    public_key: bytes
    value: bytes

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the key: the SHA-256 of its 32 bytes."""
        return fingerprint(self.public_key)

    @classmethod
    def load(cls, path: str | Path) -> Signature:
        """Read a signature file."""
        return load_document(path, "signature", _FIELDS.versions, cls._from_document)

    @classmethod
    def _from_document(cls, body: dict[str, Any]) -> Signature:
        made = cls(**_FIELDS.read(body))
        if body["algorithm"] != ALGORITHM or (len(made.public_key), len(made.value)) != (32, 64):
            raise FileFormatError(f"it is no signature by {ALGORITHM}.")
        return made

    def save(self, path: str | Path) -> None:
        """Write a signature file."""
        write_document(path, _FIELDS.body(self, _FIELDS.versions[-1]))


@dataclass(frozen=True)
class Verdict:
    """The result of checking a signature.

    Parameters
    ----------
    status : {"verified", "signed", "unsigned", "forged", "other key", "unknown"}
        Signed by the given key; by the key that the signature names, which anyone could have made; not signed; signed
        for other content; by another key than the given one; not checked, since the package is not installed.
    words : str
        The status in plain words.
    key : str, optional
        The fingerprint of the key that signed.
    """

    status: Literal["verified", "signed", "unsigned", "forged", "other key", "unknown"]
    words: str
    key: str | None = None


def fingerprint(public_key: bytes) -> str:
    """Return the fingerprint of a public key."""
    return f"sha256:{hashlib.sha256(public_key).hexdigest()}"


def beside(path: str | Path) -> Path:
    """Return the path of a document's signature."""
    path = Path(path)
    return path.with_name(path.name + ENDING)


def new_keys(private: str | Path, public: str | Path, passphrase: str | None = None) -> str:
    """Make a key pair, with the private key in a file that only its owner may read; return the fingerprint."""
    ed25519, serialization = _package()
    key = ed25519.Ed25519PrivateKey.generate()
    hidden = serialization.NoEncryption()
    if passphrase:
        hidden = serialization.BestAvailableEncryption(passphrase.encode())
    pem, form = serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    with atomic_write(private, confidential=True) as file:
        file.write(key.private_bytes(pem, serialization.PrivateFormat.PKCS8, hidden))
    with atomic_write(public) as file:
        file.write(key.public_key().public_bytes(pem, form))
    return fingerprint(key.public_key().public_bytes_raw())


def sign(source: Source, key: str | Path, ask: Ask | None = None) -> Signature:
    """Sign a saved document.

    Parameters
    ----------
    source : path or Document
        The document.
    key : path
        A private Ed25519 key, in PEM.
    ask : callable, optional
        Returns the passphrase of the key, if it has one and the environment variable is not set.
    """
    private = _private_key(Path(key), ask)
    message = _message(Document.of(source))
    return Signature(private.public_key().public_bytes_raw(), private.sign(message))


def verify(source: Source, key: str | Path | None = None, signature: str | Path | None = None) -> Verdict:
    """Check the signature of a document.

    Parameters
    ----------
    source : path or Document
        The document.
    key : path, optional
        The public key of the expected signer, in PEM. Without it, any key is accepted, which proves nothing.
    signature : path, optional
        The path of the signature; beside the document by default.
    """
    known = None if key is None else _public_key(Path(key))
    document = Document.of(source)
    place = beside(document.path) if signature is None else Path(signature)
    if signature is None and not place.exists():
        return Verdict("unsigned", _UNSIGNED)
    given = Signature.load(place)
    by = f"by the key {given.fingerprint}"
    if known is not None and known != given.public_key:
        return Verdict("other key", f"Signed {by}, which is another key than the one given.", given.fingerprint)
    try:
        ed25519, _ = _package()
    except ParameterError as error:
        return Verdict("unknown", f"Signed, it says, {by}, which was not checked. {error}", given.fingerprint)
    from cryptography.exceptions import InvalidSignature

    try:
        ed25519.Ed25519PublicKey.from_public_bytes(given.public_key).verify(given.value, _message(document))
    except InvalidSignature:
        return Verdict("forged", f"The content is not what was signed {by}.", given.fingerprint)
    if known is None:
        words = f"Signed {by}. Anyone can make a key: it is proof only with --key and the custodian's public key."
        return Verdict("signed", words, given.fingerprint)
    return Verdict("verified", f"Signed {by}, the one given, and not changed since.", given.fingerprint)


def _message(document: Document) -> bytes:
    """Return the message that is signed: the canonical content of a document without its digest."""
    kind = document.kind
    if kind is None or kind not in KINDS or kind == "signature":
        raise FileFormatError(f"{document.name} is no document of discreet, and only those are signed.")
    body = read_document(document, kind, (document.body.get("format_version"),))
    return _CONTEXT + canonical({name: value for name, value in body.items() if name != "sha256"})


def _private_key(path: Path, ask: Ask | None) -> Any:
    ed25519, serialization = _package()
    content = path.read_bytes()
    passphrase = os.environ.get(PASSPHRASE)
    try:
        try:
            key = serialization.load_pem_private_key(content, None)
        except TypeError:  # it has a passphrase
            if passphrase is None and ask is None:
                raise ParameterError(f"{path.name} has a passphrase: give it in {PASSPHRASE}.") from None
            passphrase = passphrase if passphrase is not None or ask is None else ask()
            key = serialization.load_pem_private_key(content, (passphrase or "").encode())
    except ParameterError:
        raise
    except Exception:  # a damaged key, or a wrong passphrase, fails in many ways
        raise FileFormatError(
            f"{path.name} is not a private key in PEM, is damaged, or has another passphrase. "
            "`discreet sign --new-key NAME` makes one."
        ) from None
    return _of_kind(key, ed25519.Ed25519PrivateKey, path)


def _public_key(path: Path) -> bytes:
    ed25519, serialization = _package()
    content = path.read_bytes()
    if b"PRIVATE KEY" in content:
        raise FileFormatError(f"{path.name} is a private key. Check with the public one, and keep this one secret.")
    if content.count(b"-----BEGIN ") > 1:
        raise FileFormatError(
            f"{path.name} holds several keys, so it is unclear which one is meant. Give a file with one."
        )
    try:
        key = serialization.load_pem_public_key(content)
    except Exception:  # a damaged key fails in many ways
        raise FileFormatError(f"{path.name} is not a public key in PEM, or is damaged.") from None
    raw: bytes = _of_kind(key, ed25519.Ed25519PublicKey, path).public_bytes_raw()
    return raw


def _of_kind(key: Any, kind: type, path: Path) -> Any:
    if not isinstance(key, kind):
        raise FileFormatError(f"{path.name} is a key of another kind: signatures are made with {ALGORITHM} keys.")
    return key


def _package() -> tuple[ModuleType, ModuleType]:
    """Import the needed parts of the cryptography package, only when they are used."""
    try:
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError:
        raise ParameterError('Signatures need the package cryptography: pip install "discreet[sign]"') from None
    return ed25519, serialization
