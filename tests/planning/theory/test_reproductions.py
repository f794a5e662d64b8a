"""Every reproduction of theory runs at its quick size, draws and judges; its cells suit the study engine."""

import importlib
import json

import numpy as np
import pandas as pd
import pytest
from experiments.reproduction import Finding, Reproduction
from legible import assert_legible

NAMES = {
    "wang2018.fig1": "wang2018-fig1",
    "wang2018.fig4": "wang2018-fig4",
    "wang2018.table1": "wang2018-table1",
    "wang2018.table2": "wang2018-table2",
    "neel2023.fig1": "neel2023-fig1",
}
WRONG = {"neel2023-fig1": 1}  # claims of the papers that do not hold


@pytest.fixture(scope="module", params=NAMES)
def ran(request):
    made = importlib.import_module(f"experiments.{request.param}").REPRODUCTION
    assert made.name == NAMES[request.param]
    rows = [json.loads(json.dumps(cell)) | row for cell in made.cells("quick", None) for row in made.work(cell, None)]
    return made, pd.DataFrame(rows)


def test_it_runs_draws_and_judges(ran):
    made, rows = ran
    assert isinstance(made, Reproduction)
    pictures = made.draw(rows)
    assert pictures
    for figure in pictures.values():
        assert_legible(figure)
    findings = made.judge(rows)
    assert all(isinstance(finding, Finding) and finding.measured for finding in findings)
    wrong = [finding for finding in findings if finding.agrees is False]
    assert len(wrong) == WRONG.get(made.name, 0), wrong
    assert all(finding.why for finding in wrong)


def test_rows_are_json_and_repeatable(ran):
    made, rows = ran
    cell = made.cells("quick", None)[0]
    again = made.work(cell, None)
    assert json.loads(json.dumps(again)) == again
    first = rows.iloc[: len(again)]
    for name, value in again[-1].items():
        if isinstance(value, float) and np.isfinite(value):
            assert first.iloc[-1][name] == pytest.approx(value)


def test_sizes_grow(ran):
    made, _ = ran

    def weight(size):
        return sum(sum(value for value in cell.values() if isinstance(value, int)) for cell in made.cells(size, None))

    assert weight("quick") < weight("normal") <= weight("full")
