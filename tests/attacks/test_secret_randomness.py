"""Replacing `words` of the operating system's source by known numbers gave a verified release without secret noise.

A source holds nothing that could be replaced, words are drawn from the function that Python had at import, and every
release asks whether the class and its method are still those of the module: if not, it is a simulation, it charges no
budget, and files of it are not saved by accident. A source that is replaced while a release is under way ends it.
"""

import subprocess
import sys

import numpy as np
import pytest

from discreet import Budget, Domain, DPLinearRegression, Moments, release
from discreet.errors import GuaranteeError
from discreet.gate import entropy
from discreet.gate.entropy import OSEntropy, is_secret
from discreet.gate.session import Session, promised

X = np.linspace(-1, 1, 40)
DOMAIN = Domain({"x": (-1, 1), "y": (-1, 1)})
PROMISE = {"epsilon": 1.0, "delta": 1e-6}


def known(*args):
    """Words that everybody knows; called with or without an instance."""
    return np.random.default_rng(0).integers(0, 2**64, args[-1], dtype=np.uint64)


def instance_attribute(monkeypatch):
    source = OSEntropy()
    source.words = known
    return source


def instance_attribute_by_force(monkeypatch):
    source = OSEntropy()
    object.__setattr__(source, "words", known)
    return source


def instance_dictionary(monkeypatch):
    source = OSEntropy()
    vars(source)["words"] = known
    return source


def subclass(monkeypatch):
    return type("OSEntropy", (OSEntropy,), {"words": known})()


def another_class(monkeypatch):
    source = OSEntropy()
    source.__class__ = type("OSEntropy", (OSEntropy,), {"words": known, "__slots__": ()})
    return source


def class_attribute(monkeypatch):
    monkeypatch.setattr(OSEntropy, "words", known)
    return OSEntropy()


def class_attribute_and_no_source(monkeypatch):
    monkeypatch.setattr(OSEntropy, "words", known)


def the_class_itself(monkeypatch):
    monkeypatch.setattr(entropy, "OSEntropy", type("OSEntropy", (), {"simulation": False, "words": known}))


def code_of_the_method(monkeypatch):
    monkeypatch.setattr(OSEntropy.words, "__code__", (lambda self, n: __import__("discreet").known(n)).__code__)
    monkeypatch.setattr("discreet.known", known, raising=False)


def reading_of_the_bytes(monkeypatch):
    """On 0.2.0, which reads them by numpy's own function, that one."""
    place = "discreet.gate.entropy.frombuffer" if hasattr(entropy, "frombuffer") else "numpy.frombuffer"
    monkeypatch.setattr(place, lambda content, dtype: known(len(content) // 8))


ATTACKS = [
    instance_attribute,
    instance_attribute_by_force,
    instance_dictionary,
    subclass,
    another_class,
    class_attribute,
    class_attribute_and_no_source,
    the_class_itself,
    code_of_the_method,
    reading_of_the_bytes,
]


def is_known(source):
    """Whether the words that a release would draw are the attacker's."""
    return np.array_equal(entropy.entropy(source).words(8), known(8))


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.__name__)
def test_known_words_are_never_verified(attack, monkeypatch):
    try:
        source = attack(monkeypatch)
    except (AttributeError, TypeError):
        return  # the source cannot be replaced in this way
    assert is_known(source), "the attack did not come through"
    assert not is_secret(source)
    moments = Moments.from_source((X[:, None], X / 2), Domain({"x0": (-1, 1), "y": (-1, 1)}))
    with Budget(**PROMISE) as whole:
        public = release(moments, **PROMISE, random_state=source)
        model = DPLinearRegression(**PROMISE, bounds_X=(-1, 1), bounds_y=(-1, 1), random_state=source)
        statuses = [public.certificate.guarantee.status, model.fit(X[:, None], X / 2).certificate_.guarantee.status]
    assert statuses == ["simulation", "simulation"]
    assert whole.to_dict()["releases"] == []


def test_instances_cannot_be_changed():
    source = OSEntropy()
    for attempt in (instance_attribute, instance_attribute_by_force):
        with pytest.raises(AttributeError):
            attempt(None)
    assert not hasattr(source, "__dict__")


def test_a_mock_of_the_operating_system_changes_nothing(monkeypatch):
    """The function was taken at import: the release is as secret as any."""
    monkeypatch.setattr("os.urandom", bytes)
    assert entropy.entropy(None).words(8).any()
    assert is_secret(None)


BEFORE = """
import os
import random
known = random.Random(0)
os.urandom = known.randbytes
from discreet import Domain, Moments, release
import numpy as np
X = np.linspace(-1, 1, 40)
moments = Moments.from_source((X[:, None], X / 2), Domain({"x0": (-1, 1), "y": (-1, 1)}))
print(release(moments, epsilon=1.0, delta=1e-6).certificate.guarantee.status)
"""


def test_a_mock_that_was_there_before_makes_simulations():
    done = subprocess.run([sys.executable, "-c", BEFORE], capture_output=True, text=True, check=True)
    assert done.stdout.split()[-1] == "simulation"


def test_a_source_that_is_replaced_under_way_ends_the_release(monkeypatch):
    """Before it is paid for, if it is seen then; and before anything is certified."""
    with Budget(**PROMISE) as whole:
        session = Session(promised(1, 1e-6, None, "add-remove"), "a test", None, None)
        with monkeypatch.context() as patch:
            patch.setattr(OSEntropy, "words", known)
            with pytest.raises(GuaranteeError, match="replaced"):
                session.charge(DOMAIN, mu=0.1)
        assert whole.to_dict()["releases"] == []
        session.charge(DOMAIN, mu=0.1)
        monkeypatch.setattr(OSEntropy, "words", known)
        with pytest.raises(GuaranteeError, match="replaced"):
            session.certify(DOMAIN)


def test_a_source_that_turns_into_another_is_refused():
    source = OSEntropy()
    session = Session(promised(1, 1e-6, None, "add-remove"), "a test", None, source)
    source.__class__ = type("Known", (OSEntropy,), {"words": known, "__slots__": ()})
    with pytest.raises(GuaranteeError, match="replaced"):
        session.charge(DOMAIN, mu=0.1)
