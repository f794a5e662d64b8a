"""The client against a service that runs: the library's verbs, and its words where something is refused."""

import pytest

from discreet.client import Client, RequestError
from discreet.errors import ParameterError

pytestmark = pytest.mark.more


@pytest.fixture(scope="module")
def client(running):
    return Client(running.address, running.key("clara"))


def test_the_way_of_an_analyst(client):
    people, *_ = client.tables()
    assert people["name"] == "people"
    assert list(client.domain("people").columns) == ["age", "sex", "region", "income"]
    made_up = client.synthetic("people", rows=50)
    assert (made_up.num_rows, made_up.column_names) == (50, ["age", "sex", "region", "income"])
    assert client.quote("people", "income ~ age", epsilon=0.4)["fits"]
    plan = client.plan("people", "income ~ age", epsilon=0.4)
    assert plan["method"] == "DPLinearRegression"
    assert "SIMULATION" in client.try_out("people", "income ~ age", epsilon=0.4).report.upper()
    job = client.fit("people", "income ~ age", epsilon=0.4, purpose="a test of the client", reuse=False)
    assert (job.state, job.free) == ("done", False)
    results = job.results
    assert results.target == "income"
    assert results.coef[0] == pytest.approx(600, rel=0.5)
    assert job.certificate["guarantee"]["status"] == "verified"
    own = job.release.fit("income ~ age")  # and from here on nobody need be asked
    assert own.coef.tolist() == results.coef.tolist()
    free = client.fit("people", "income ~ age", epsilon=0.4)
    assert free.free
    assert client.model("people", job.id, "income ~ age", model="ols").state == "done"
    assert job.id in [one.id for one in client.jobs()]


def test_several_classes(client):
    asked = {"epsilon": 0.4, "method": "DPLogisticRegression"}
    assert client.quote("people", "region ~ age + sex", **asked)["fits"]
    assert "south: age" in client.try_out("people", "region ~ age + sex", **asked).report
    results = client.fit("people", "region ~ age + sex", **asked).results
    assert (results.target, results.classes) == ("region", ("north", "south", "west"))
    rows = client.synthetic("people", rows=20)
    assert results.predict_proba(rows).sum(axis=1) == pytest.approx(1.0)
    assert set(results.predict(rows)) <= set(results.classes)
    with pytest.raises(RequestError, match="three or more classes"):
        client.plan("people", "region ~ age", **asked)
    with pytest.raises(RequestError, match="or take DPLogisticRegression"):
        client.fit("people", "region ~ age", epsilon=0.4)


def test_refusals_are_told_in_the_services_words(client):
    with pytest.raises(RequestError, match="Did you mean 'age'"):
        client.fit("people", "income ~ agee", epsilon=0.4)
    with pytest.raises(RequestError, match="no such table"):
        client.domain("nobody")
    with pytest.raises(RequestError, match="Extra inputs"):
        client.fit("people", "income ~ age", epsilon=0.4, random_state=0)
    client.plan("people", "income ~ age", epsilon=0.1, reference="twice")
    with pytest.raises(RequestError, match="was used for another request"):
        client.plan("people", "income ~ age", epsilon=0.2, reference="twice")
    job = client.fit("asked", "income ~ age", epsilon=0.1, wait=None, reuse=False)
    with pytest.raises(RequestError, match="still waiting"):
        job.wait(0.1)
    assert job.cancel().state == "cancelled"


def test_keys_do_not_travel_in_the_clear(running, monkeypatch):
    with pytest.raises(ParameterError, match="https"):
        Client("http://models.example", "dk_1_2")
    monkeypatch.delenv("DISCREET_KEY", raising=False)
    with pytest.raises(ParameterError, match="DISCREET_KEY"):
        Client(running.address)
    client = Client(running.address, "dk_secret_key")
    assert "secret" not in repr(client)
    with pytest.raises(RequestError, match="not known"):
        client.tables()
