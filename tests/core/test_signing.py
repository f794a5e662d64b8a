"""Signatures: who made a file, and that nobody changed it; every way in which that can fail has words of its own."""

import json
import stat
import sys

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from small_table import people_moments

from discreet import PrivateMoments, release
from discreet.core import signing
from discreet.core.files import digest
from discreet.errors import FileFormatError, ParameterError

PUBLIC = release(people_moments(), epsilon=1, delta=1e-6)


@pytest.fixture
def folder(run, tmp_path, monkeypatch):
    """A release, and the keys of the custodian and of another."""
    monkeypatch.delenv(signing.PASSPHRASE, raising=False)
    PUBLIC.save(tmp_path / "r.json")
    for name in ("custodian", "other"):
        assert run("sign", "--new-key", name).code == 0
    return tmp_path


def sign(run, *more):
    return run("sign", "r.json", "--key", "custodian.private.pem", *more)


def check(run, *more):
    ran = run("check", "r.json", "--json", *more)
    return ran.code, json.loads(ran.out)["signature"]["status"] if ran.out else ran.err


def test_only_the_owner_may_read_a_private_key(folder):
    assert stat.S_IMODE((folder / "custodian.private.pem").stat().st_mode) == 0o600
    assert stat.S_IMODE((folder / "custodian.public.pem").stat().st_mode) == 0o644


def test_a_signed_file(run, folder):
    before = (folder / "r.json").read_bytes()
    said = sign(run)
    assert said.code == 0
    assert (folder / "r.json").read_bytes() == before
    assert check(run, "--key", "custodian.public.pem") == (0, "verified")
    assert check(run, "--key", "other.public.pem") == (1, "other key")
    assert check(run) == (0, "signed")
    words = run("check", "r.json").said
    key = signing.Signature.load(folder / "r.json.sig").fingerprint
    assert key in words
    assert key in said.said
    assert "proof only with --key" in words
    assert "not changed since" in run("check", "r.json", "--key", "custodian.public.pem").said
    assert PrivateMoments.load(folder / "r.json").digest == PUBLIC.digest


def test_a_file_without_a_signature(run, folder):
    assert check(run) == (0, "unsigned")
    assert "forgery cannot be excluded" in run("check", "r.json").said
    assert check(run, "--key", "custodian.public.pem") == (1, "unsigned")


def test_content_that_was_changed(run, folder):
    """The forger mends the digest, which is of no use without the key."""
    sign(run)
    body = json.loads((folder / "r.json").read_text())
    body["certificate"]["domain"]["columns"]["age"]["high"] += 1
    (folder / "r.json").write_text(json.dumps(body | {"sha256": digest(body)}))
    assert check(run) == (1, "forged")
    assert check(run, "--key", "custodian.public.pem") == (1, "forged")
    assert "not what was signed" in run("check", "r.json").said
    run("sign", "r.json", "--key", "other.private.pem", "--force")
    assert check(run) == (0, "signed")
    assert check(run, "--key", "custodian.public.pem") == (1, "other key")


def test_one_byte_that_was_changed(run, folder):
    sign(run)
    whole = (folder / "r.json").read_bytes()
    for at in range(0, len(whole), len(whole) // 40):
        (folder / "r.json").write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        assert run("check", "r.json", "--key", "custodian.public.pem").code in (1, 2)


def test_another_layout_is_the_same_content(run, folder):
    sign(run)
    (folder / "r.json").write_text(json.dumps(json.loads((folder / "r.json").read_text()), indent=3))
    assert check(run, "--key", "custodian.public.pem") == (0, "verified")


def test_the_signature_of_another_file(run, folder):
    sign(run)
    release(people_moments(), epsilon=1, delta=1e-6).save(folder / "r.json", overwrite=True)
    assert check(run, "--key", "custodian.public.pem") == (1, "forged")


@pytest.mark.parametrize("damage", [lambda text: text[:-40], lambda text: text.replace('"value": "', '"value": "A')])
def test_a_damaged_signature(damage, run, folder):
    sign(run)
    (folder / "r.json.sig").write_text(damage((folder / "r.json.sig").read_text()))
    ran = run("check", "r.json")
    assert (ran.code, "r.json.sig" in ran.said) == (2, True)


def test_where_the_signature_goes(run, folder):
    assert sign(run, "--out", "s.sig").code == 0
    assert signing.verify(folder / "r.json", folder / "custodian.public.pem", folder / "s.sig").status == "verified"
    assert sign(run, "--out", "r.json", "--force").code == 2
    assert sign(run, "--out", "custodian.private.pem", "--force").code == 2
    sign(run)
    assert "exists already" in sign(run).said
    assert "exists already" in run("sign", "--new-key", "custodian").said


@pytest.mark.parametrize("more", [[], ["r.json"], ["r.json", "--new-key", "n"], ["--key", "custodian.private.pem"]])
def test_options_that_do_not_belong_together(more, run, folder):
    assert run("sign", *more).code == 2


def test_what_is_not_signed(run, folder):
    (folder / "x.json").write_text("{}")
    assert run("sign", "x.json", "--key", "custodian.private.pem").code == 2
    release(people_moments(), epsilon=1, delta=1e-6, random_state=1).save(
        folder / "x.json", simulation=True, overwrite=True
    )
    assert "does not pass" in run("sign", "x.json", "--key", "custodian.private.pem").said
    sign(run)
    with pytest.raises(FileFormatError, match="no document"):
        signing.sign(folder / "r.json.sig", folder / "custodian.private.pem")


# -------------------------------------------------------------------- keys


def rsa_key():
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def pem_of_rsa(private):
    key, pem = rsa_key(), serialization.Encoding.PEM
    if private:
        form = serialization.PrivateFormat.PKCS8
        return key.private_bytes(pem, form, serialization.NoEncryption())
    return key.public_key().public_bytes(pem, serialization.PublicFormat.SubjectPublicKeyInfo)


KEYS = {
    "RSA": (lambda pem, private: pem_of_rsa(private), "of another kind"),
    "truncated": (lambda pem, private: pem[:60], "damaged"),
    "no key": (lambda pem, private: b"hello\n", "not a"),
    "empty": (lambda pem, private: b"", "not a"),
    "binary": (lambda pem, private: bytes(range(256)), "not a"),
}


@pytest.mark.parametrize("private", [True, False])
@pytest.mark.parametrize("kind", KEYS)
def test_keys_that_are_none(kind, private, run, folder):
    change, words = KEYS[kind]
    name = "custodian.private.pem" if private else "custodian.public.pem"
    (folder / name).write_bytes(change((folder / name).read_bytes(), private))
    ran = sign(run) if private else run("check", "r.json", "--key", name)
    assert (ran.code, words in ran.said, name in ran.said) == (2, True, True)


def test_keys_in_each_other_s_place(run, folder):
    assert run("sign", "r.json", "--key", "custodian.public.pem").code == 2
    ran = run("check", "r.json", "--key", "custodian.private.pem")
    assert (ran.code, "keep this one secret" in ran.said) == (2, True)
    assert run("check", "r.json", "--key", "nowhere.pem").code == 2


def test_a_file_with_several_keys(run, folder):
    """Only the first of them would count, whatever a reader takes the file for."""
    sign(run)
    both = [(folder / f"{name}.public.pem").read_bytes() for name in ("custodian", "other")]
    (folder / "both.pem").write_bytes(b"".join(both))
    ran = run("check", "r.json", "--key", "both.pem")
    assert (ran.code, "several keys" in ran.said) == (2, True)


def test_a_key_with_a_passphrase(run, folder, monkeypatch):
    monkeypatch.setenv(signing.PASSPHRASE, "open sesame")
    assert run("sign", "--new-key", "safe").code == 0
    assert b"ENCRYPTED" in (folder / "safe.private.pem").read_bytes()
    assert run("sign", "r.json", "--key", "safe.private.pem").code == 0
    assert check(run, "--key", "safe.public.pem") == (0, "verified")
    monkeypatch.setenv(signing.PASSPHRASE, "another")
    assert "another passphrase" in run("sign", "r.json", "--key", "safe.private.pem", "--force").said
    monkeypatch.delenv(signing.PASSPHRASE)
    with pytest.raises(ParameterError, match=signing.PASSPHRASE):
        signing.sign(folder / "r.json", folder / "safe.private.pem")
    signed = signing.sign(folder / "r.json", folder / "safe.private.pem", lambda: "open sesame")
    assert signed == signing.Signature.load(folder / "r.json.sig")


def test_without_the_package(run, folder, monkeypatch):
    sign(run)
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives", None)
    ran = run("check", "r.json")
    assert (ran.code, "was not checked" in ran.said) == (0, True)
    needing = [run("check", "r.json", "--key", "custodian.public.pem"), sign(run, "--force")]
    assert [other.code for other in needing] == [2, 2]
    assert all('pip install "discreet[sign]"' in said.said for said in (ran, *needing))
