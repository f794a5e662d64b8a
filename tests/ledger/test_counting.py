"""Nothing that came out of a block, or went into another process, releases uncounted."""

import asyncio
import multiprocessing
import os
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest
from joblib import Parallel, delayed

from discreet import Budget, BudgetError, Domain, DPLinearRegression, DPLogisticRegression, Ledger, Moments, release
from discreet.errors import FileFormatError
from discreet.gate.session import Session, promised
from discreet.ledger.audit import flaws
from discreet.ledger.charging import charge
from discreet.privacy.budget_parts import Cost
from discreet.released.certificate import Certificate

X = np.random.default_rng(0).uniform(-1, 1, (400, 2))
DOMAIN = Domain.from_bounds(["a", "b"], ["y"], bounds_X=(-1, 1), bounds_y=(-1, 1))
MOMENTS = Moments.from_source((X, X[:, 0]), DOMAIN)
GAUSSIAN, OTHER = Cost(0.2, 1e-6, mu=0.05), Cost(0.2, 1e-7)


def spend(epsilon=0.2, **options):
    return release(MOMENTS, epsilon=epsilon, delta=1e-6, **options)


@pytest.fixture
def ledger(folder):
    made = Ledger.create(folder / "people.ledger")
    made.open("clinic", epsilon=3, delta=1e-6, others=(1, 5e-7))
    return made


def entries(ledger, kind="reserve"):
    return [entry.facts for entry in ledger.entries() if entry.facts["kind"] == kind]


# ---------------------------------------------------------------- every release is charged


def test_a_release_names_its_entry_and_the_entry_its_certificate(ledger, tmp_path):
    with ledger.account("clinic", purpose="a test"):
        released = spend()
        model = DPLinearRegression(epsilon=0.2, delta=1e-6, domain=DOMAIN)
        model.fit_formula("y ~ a + a:b", table())
        logistic = DPLogisticRegression(epsilon=0.2, delta=1e-7, bounds_X=(-1, 1), classes=[0, 1])
        logistic.fit(X, (X[:, 0] > 0).astype(int))
    paid, done = entries(ledger), entries(ledger, "commit")
    assert [facts["method"] for facts in paid] == ["moments", "DPLinearRegression", "DPLogisticRegression"]
    assert [facts["formula"] for facts in paid] == [None, "y ~ a + a:b", None]
    assert paid[0]["columns"] == ["a", "b", "y"]
    assert {facts["purpose"] for facts in paid} == {"a test"}
    certificates = [released.certificate, model.certificate_, logistic.certificate_]
    assert [facts["certificate"] for facts in done] == [certificate.digest for certificate in certificates]
    assert [c.receipts[0].entry for c in certificates] == [facts["number"] for facts in paid]
    assert "Counted as entry 2 of ledger" in released.certificate.words()
    released.save(tmp_path / "r.json")
    assert type(released).load(tmp_path / "r.json").certificate == released.certificate
    assert flaws(ledger) == []


def table():
    import pandas as pd

    return pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": X[:, 0]})


def test_simulations_are_never_charged(ledger):
    with ledger.account("clinic"):
        released = spend(5, random_state=0)
    assert entries(ledger) == []
    assert released.certificate.receipts == ()
    assert "ledger" not in released.certificate.to_dict()


def test_the_environment_charges_every_release(ledger, monkeypatch):
    monkeypatch.setenv("DISCREET_LEDGER", str(ledger.place))
    monkeypatch.setenv("DISCREET_PURPOSE", "nightly")
    with Budget(1, 1e-6) as budget:
        spend()
    spend()
    assert [facts["purpose"] for facts in entries(ledger)] == ["nightly", "nightly"]
    assert budget.epsilon_spent > 0
    ledger.open("lab", epsilon=1, delta=1e-6)
    with pytest.raises(ValueError, match="Name the account"):
        spend()
    monkeypatch.setenv("DISCREET_ACCOUNT", "lab")
    spend()
    with ledger.account("clinic"):
        spend()
    assert [facts["account"] for facts in entries(ledger)] == ["clinic", "clinic", "lab", "clinic"]
    monkeypatch.setenv("DISCREET_LEDGER", str(ledger.place) + "x")
    with pytest.raises(BudgetError, match="There is no ledger"):
        spend()


def test_the_inner_account_of_a_population_counts_and_others_count_too(ledger):
    ledger.open("clinic/visits")
    ledger.open("lab", epsilon=1, delta=1e-6)
    with ledger.account("clinic"), ledger.account("clinic/visits"):
        spend()
    with ledger.account("lab"), ledger.account("clinic"):
        spend()
    assert [facts["account"] for facts in entries(ledger)] == ["clinic/visits", "lab", "clinic"]


def test_accounts_in_threads_do_not_mix(ledger):
    """Each thread has its own block: what it releases is charged there, and nowhere else."""
    names = [f"p{i}" for i in range(4)]
    for name in names:
        ledger.open(name, epsilon=1, delta=1e-6)
    ready = threading.Barrier(len(names))

    def run(name):
        with ledger.account(name):
            ready.wait()
            spend()
            ready.wait()

    threads = [threading.Thread(target=run, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(facts["account"] for facts in entries(ledger)) == names


@pytest.mark.parametrize("change", [{"entry": -1}, {"entry": "2"}, {"hash": 3}, {"ledger": None}, {"account": []}])
def test_a_certificate_with_a_malformed_receipt_is_refused(ledger, change):
    with ledger.account("clinic"):
        facts = spend().certificate.to_dict()
    assert Certificate.from_dict(facts).to_dict() == facts
    facts["ledger"][0] |= change
    with pytest.raises(FileFormatError):
        Certificate.from_dict(facts)


# ---------------------------------------------------------------- the handle


def test_a_charge_is_cancelled_at_the_end_of_its_block_unless_noise_was_drawn(ledger):
    with Budget(1, 1e-6) as budget, ledger.account("clinic") as account:
        before = account.balance()
        with charge(GAUSSIAN, "add-remove", "a release"):
            assert account.balance() != before
            assert budget.mu_spent == GAUSSIAN.mu
        with pytest.raises(ZeroDivisionError), charge(GAUSSIAN, "add-remove", "a release"):
            1 / 0  # noqa: B018
        assert account.balance() == before
        assert budget.mu_spent == 0
        assert budget.to_dict()["releases"] == []
        with charge(GAUSSIAN, "add-remove", "a release") as paid:
            paid.draw()
        assert budget.mu_spent == GAUSSIAN.mu == account.balance().mu_spent


def test_what_one_refuses_is_given_back_by_all(folder, ledger):
    other = Ledger.create(folder / "other.ledger")
    other.open("small", epsilon=0.1, delta=1e-6)
    with Budget(1, 1e-6) as budget, ledger.account("clinic") as account, other.account("small") as small:
        before = account.balance()
        with pytest.raises(BudgetError, match="'small'"):
            spend(0.5)
        assert (budget.mu_spent, account.balance(), small.releases()) == (0, before, 0)
        spend(0.05)
        assert account.releases() == small.releases() == 1
    assert flaws(ledger) == flaws(other) == []


def test_a_budget_mixes_gaussian_and_other_releases_by_two_parts():
    with Budget(1, 1e-6, others=(0.4, 5e-7)) as budget:
        for cost in (GAUSSIAN, OTHER, GAUSSIAN, OTHER):
            charge(cost, "add-remove", "a release").draw()
        with pytest.raises(BudgetError, match="would exceed the budget"):
            charge(OTHER, "add-remove", "a release")
        charge(GAUSSIAN, "add-remove", "a release").draw()
    assert budget.epsilon_spent < 1
    assert budget.balance.limits.mu < Budget(1, 1e-6).balance.limits.mu
    assert "0.4 of it for releases that are not Gaussian" in repr(budget)


def test_a_session_commits_what_it_paid_for_only():
    session = Session(promised(1, 1e-6, None, "add-remove"), "an example", None, None)
    with pytest.raises(Exception, match="paid for before"):
        session.commit(spend().certificate)


# ---------------------------------------------------------------- threads, tasks and processes


def run_alone(code):
    """In a process of its own: what is remembered of threads concerns nobody else."""
    start = """
        import asyncio, os, threading, sys
        import numpy as np
        from discreet import Budget, BudgetError, Domain, Ledger, Moments, release
        X = np.linspace(-1, 1, 400)[:, None]
        DOMAIN = Domain.from_bounds(["a"], ["y"], bounds_X=(-1, 1), bounds_y=(-1, 1))
        MOMENTS = Moments.from_source((X, X), DOMAIN)
        said = []
        def spend():
            try:
                release(MOMENTS, epsilon=0.1, delta=1e-6)
                said.append("released")
            except BudgetError as error:
                said.append("ended" if "has ended" in str(error) else "worker" if "is a worker" in str(error) else "?")
    """
    text = textwrap.dedent(start) + textwrap.dedent(code)
    ran = subprocess.run([sys.executable, "-c", text], check=False, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.split()


def test_threads_that_outlive_a_block_and_those_they_start_are_refused():
    code = """
        go = threading.Event()
        def late():
            go.wait()
            spend()
            inner = threading.Thread(target=spend); inner.start(); inner.join()
        with Budget(1, 1e-6) as budget:
            thread = threading.Thread(target=late); thread.start()
        go.set(); thread.join()
        spend()                                     # the main thread is free
        with Budget(1, 1e-6):
            other = threading.Thread(target=spend); other.start(); other.join()
        print(*said, budget.mu_spent)
    """
    assert run_alone(code) == ["ended", "ended", "released", "released", "0.0"]


def test_a_pool_that_was_there_before_is_refused_after_the_block():
    code = """
        from concurrent.futures import ThreadPoolExecutor
        go = threading.Event()
        with ThreadPoolExecutor(1) as pool:
            pool.submit(int).result()
            with Budget(1, 1e-6):
                waiting = pool.submit(lambda: (go.wait(), spend()))
            go.set(); waiting.result()
        after = threading.Thread(target=spend); after.start(); after.join()   # all are gone: this one is nobody's
        print(*said)
    """
    assert run_alone(code) == ["ended", "released"]


@pytest.mark.more
def test_tasks_that_outlive_a_block_are_refused():
    code = """
        async def main():
            with Budget(1, 1e-6):
                async def late():
                    await asyncio.sleep(0.05)
                    spend()
                    await asyncio.to_thread(spend)
                task = asyncio.create_task(late())
                spend()
            await task
            spend()
        asyncio.run(main())
        print(*said)
    """
    assert run_alone(code) == ["released", "ended", "ended", "released"]


@pytest.mark.more
def test_forks_are_refused_or_charged_to_the_ledger():
    code = """
        import tempfile
        from pathlib import Path
        def in_fork(work):
            child = os.fork()
            if child == 0:
                work(); print(*said, flush=True); os._exit(0)
            os.waitpid(child, 0)
        in_fork(spend)
        with Budget(1, 1e-6):
            in_fork(spend)
        ledger = Ledger.create(Path(tempfile.mkdtemp()) / "x.ledger")
        ledger.open("clinic", epsilon=1, delta=1e-6)
        with ledger.account("clinic") as account:
            in_fork(spend)
        print(account.releases())
        with ledger.account("clinic") as account, Budget(1, 1e-6):
            in_fork(spend)
        print(account.releases())
    """
    assert run_alone(code) == ["worker", "worker", "released", "1", "worker", "1"]


def test_who_paid_draws_and_no_fork_of_it(ledger):
    with ledger.account("clinic"):
        paid = charge(GAUSSIAN, "add-remove", "a release")
    child = os.fork()
    if child == 0:
        try:
            paid.draw()
        except BudgetError:
            os._exit(7)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    paid.cancel()


def in_worker(account):
    with account:
        spend()
    return os.getpid()


def refused(_):
    try:
        spend()
    except BudgetError as error:
        return "worker process" in str(error)
    return False


@pytest.mark.parametrize("backend", ["loky", "multiprocessing"])
def test_workers_count_with_the_account_they_are_given_and_are_refused_without(ledger, backend):
    account = ledger.account("clinic")
    processes = Parallel(n_jobs=2, backend=backend)(delayed(in_worker)(account) for _ in range(2))
    assert os.getpid() not in processes
    assert account.releases() == 2
    if backend == "loky":
        with account:
            assert all(Parallel(n_jobs=2, backend=backend)(delayed(refused)(i) for i in range(2)))
    assert flaws(ledger) == []


def test_spawned_workers_count_by_the_environment(ledger, monkeypatch):
    monkeypatch.setenv("DISCREET_LEDGER", str(ledger.place))
    process = multiprocessing.get_context("spawn").Process(target=spend)
    process.start()
    process.join()
    assert process.exitcode == 0
    assert len(entries(ledger)) == 1


@pytest.mark.parametrize("name", ["pyspark/daemon.py", "pyspark/worker.py", "ray/_private/workers/default_worker.py"])
def test_workers_of_spark_and_ray_are_known_by_what_started_them(tmp_path, name):
    """A stand-in of the same name, run as theirs is: by -m for Spark, as a file for Ray."""
    file = tmp_path / name
    file.parent.mkdir(parents=True)
    for folder in [*file.parents][: len(name.split("/")) - 1]:
        (folder / "__init__.py").touch()
    file.write_text("from discreet.ledger.blocks import is_worker\nprint(is_worker())\n", encoding="utf-8")
    spark = name.startswith("pyspark")
    command = ["-m", name.removesuffix(".py").replace("/", ".")] if spark else [str(file)]
    path = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    ran = subprocess.run(
        [sys.executable, *command], env=os.environ | {"PYTHONPATH": path}, check=True, capture_output=True, text=True
    )
    assert ran.stdout.split() == ["True"]


def test_an_async_server_keeps_accounts_apart(ledger):
    ledger.open("lab", epsilon=1, delta=1e-6)

    async def serve(name):
        with ledger.account(name):
            await asyncio.sleep(0.01)
            await asyncio.to_thread(spend)

    async def main():
        await asyncio.gather(serve("clinic"), serve("lab"))

    asyncio.run(main())
    assert sorted(facts["account"] for facts in entries(ledger)) == ["clinic", "lab"]
