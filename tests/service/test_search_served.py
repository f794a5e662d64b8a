"""A service holds prices and limits that are about declared bounds: a table without them is refused at its start."""

import pytest
from conftest import SCHEMA, set_up

from discreet.errors import ParameterError
from discreet.service.settings import Settings


def test_a_table_without_bounds_is_refused_with_the_remedy(tmp_path):
    config = set_up(tmp_path)
    assert set(Settings.from_file(config).domains) == {"people", "asked", "small"}
    unknown = SCHEMA.replace('{ low = 0, high = 100000, unit = "EUR" }', '{ type = "number" }')
    (tmp_path / "people.toml").write_text(unknown, encoding="utf-8")
    with pytest.raises(ParameterError, match=r"The service, for table 'people', needs bounds .*discreet.bounds"):
        _ = Settings.from_file(config).domains
