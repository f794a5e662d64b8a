"""Balances of the service read each entry of the ledger once, and are those of a whole reading."""

import pytest

pytest.importorskip("fastapi", reason="the service is not installed: pip install 'discreet[service]'")

from discreet.errors import LedgerError
from discreet.ledger import Ledger
from discreet.privacy.budget_parts import Cost
from discreet.service.balances import Balances

WHAT = {"method": "x", "columns": [], "formula": None}


def made(folder, releases, epsilon=0.01):
    """A ledger with a population, an account of it, and some releases."""
    ledger = Ledger.create(folder / f"{releases}-{epsilon}.ledger")
    ledger.open("town", epsilon=3, delta=1e-6, others=(1.0, 1e-7))
    ledger.open("town/people")
    for number in range(releases):
        release(ledger, number, epsilon)
    return ledger


def release(ledger, number, epsilon=0.01):
    paid = ledger.account("town/people").reserve(Cost(epsilon, 0.0), "add-remove", WHAT)
    (paid.cancel if number % 3 == 1 else paid.draw)()


def told(balances):
    return {name: (story.points, story.releases, story.lost) for name, story in balances._stories.items()}


def scanned(balances, monkeypatch):
    """The numbers after which the ledger is read from now on."""
    found, scan = [], balances.ledger.scan

    def noted(after=-1):
        found.append(after)
        return scan(after)

    monkeypatch.setattr(balances.ledger, "scan", noted)
    return found


def test_each_entry_is_read_once(tmp_path, monkeypatch):
    """All were read again for each new one."""
    ledger = made(tmp_path, 2)
    balances = Balances(ledger)
    found = scanned(balances, monkeypatch)
    for number in range(6):
        before = ledger.head().number
        release(ledger, number)
        balances.tick()
        assert found == [before]
        balances.tick()
        assert found.pop() == before
        assert not found
        assert told(balances) == told(Balances(ledger))
        found.clear()
    ledger.open("village", epsilon=1, delta=1e-6)
    balances.tick()
    assert balances.told("village")["releases"] == 0


@pytest.mark.parametrize("releases", [2, 5, 9])
def test_another_ledger_is_read_from_its_beginning(releases, tmp_path):
    """Shorter, as long, or longer."""
    balances = Balances(made(tmp_path, 5))
    balances.ledger = made(tmp_path, releases, epsilon=0.02)
    balances.tick()
    assert told(balances) == told(Balances(balances.ledger))


def test_after_a_failure_all_is_read_again(tmp_path, monkeypatch):
    ledger = made(tmp_path, 3)
    balances = Balances(ledger)
    before, scan = told(balances), ledger.scan

    def broken(after=-1):
        yield from scan(after)
        raise LedgerError("damaged")

    release(ledger, 0)
    monkeypatch.setattr(ledger, "scan", broken)
    with pytest.raises(LedgerError):
        balances.tick()
    assert told(balances) == before
    monkeypatch.undo()
    balances.tick()
    assert told(balances) == told(Balances(ledger)) != before
    found = scanned(balances, monkeypatch)
    balances.tick(whole=True)
    assert found == [-1]
