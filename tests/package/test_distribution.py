"""What people install: archives that can be built again byte for byte, and that work without the checkout."""

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import numpy as np
import pytest
from distribution import archives, manual

import discreet
from discreet.cli.commands import COMMANDS
from discreet.errors import MissingPackageError, ParameterError
from discreet.mechanisms.gradient_descent.event import sampled_curve

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


# ---------------------------------------------------------------- facts that stand in two places


def test_the_version_is_one():
    cited = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert PROJECT["version"] == discreet.__version__
    assert f"\nversion: {discreet.__version__}\n" in cited
    assert int(archives.epoch()) > 1_700_000_000


def test_all_extras_of_users_are_in_all():
    extras = PROJECT["optional-dependencies"]
    (every,) = extras["all"]
    named = set(every.removeprefix("discreet[").removesuffix("]").split(","))
    assert named == set(extras) - {"all", "bench", "cluster", "dev", "dist", "docs", "test"}


def test_the_conda_recipe_says_what_the_project_says():
    """Rendered by rattler-build itself; building it needs conda-forge."""
    rattler = pytest.importorskip("rattler_build", reason="pip install 'discreet[dist]'")
    (variant,) = rattler.Stage0Recipe.from_file(ROOT / "distribution" / "conda" / "recipe.yaml").render()
    recipe = variant.recipe.to_dict()
    named = {"matplotlib": "matplotlib-base"}  # without what draws windows
    needed = [re.fullmatch(r"([\w-]+)(.*)", one).groups() for one in PROJECT["dependencies"]]
    python = f"python {PROJECT['requires-python']}"
    assert recipe["requirements"]["run"] == [python, *(f"{named.get(n, n)} {v}".strip() for n, v in needed)]
    assert recipe["package"] == {"name": "discreet", "version": discreet.__version__}
    assert recipe["about"]["summary"] == PROJECT["description"]
    (script,) = [f"{name} = {place}" for name, place in PROJECT["scripts"].items()]
    assert recipe["build"]["python"]["entry_points"] == [script]


def test_what_needs_the_accountant_says_so_before_anything_is_drawn(monkeypatch):
    monkeypatch.setitem(sys.modules, "dp_accounting.pld", None)
    monkeypatch.setattr("discreet.mechanisms.gradient_descent.batches_release.add_normal", None, raising=False)
    sampled_curve.cache_clear()
    X = np.linspace(0, 1, 50)[:, None]
    facts = {"epsilon": 1, "delta": 1e-6, "bounds_X": (0, 1), "bounds_y": (0, 1)}
    with pytest.raises(ParameterError, match=r"pip install \"discreet\[sgd\]\""):
        discreet.NoisySGD(**facts, rows=50, steps=5).fit(X, X[:, 0])
    assert discreet.NoisyGradientDescent(**facts, rows=50).fit(X, X[:, 0]).certificate_.guarantee.status == "verified"


def test_a_file_is_not_blamed_for_the_accountant_that_is_not_installed(monkeypatch, tmp_path):
    pytest.importorskip("dp_accounting")
    X = np.linspace(0, 1, 50)[:, None]
    facts = {"epsilon": 1, "delta": 1e-6, "bounds_X": (0, 1), "bounds_y": (0, 1)}
    discreet.NoisySGD(**facts, rows=50, steps=5).fit(X, X[:, 0]).release_.save(tmp_path / "sgd.json")
    monkeypatch.setitem(sys.modules, "dp_accounting.pld", None)
    sampled_curve.cache_clear()
    for read in (discreet.load, discreet.check):
        with pytest.raises(MissingPackageError, match=r"dp-accounting.*pip install \"discreet\[sgd\]\""):
            read(tmp_path / "sgd.json")


LOCKED = re.compile(
    r"^([\w.-]+)==(\S+)(?: ; ([^\\]+))? \\\n((?: +--hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)", re.MULTILINE
)


def test_the_lock_file_names_all_that_ci_needs_by_version_and_hash():
    requirements = pytest.importorskip("packaging.requirements")
    text = (ROOT / "distribution" / "ci.lock").read_text(encoding="utf-8")
    assert LOCKED.sub("", text) == ""
    locked = {}
    for name, version, *_ in LOCKED.findall(text):
        locked.setdefault(name, []).append(version)
    extras = PROJECT["optional-dependencies"]
    asked, needed = ["dev", "dist"], list(PROJECT["dependencies"])
    for name in asked:
        for one in map(requirements.Requirement, extras[name]):
            if one.name == "discreet":
                asked += [extra for extra in sorted(one.extras) if extra not in asked]
            else:
                needed.append(str(one))
    for one in map(requirements.Requirement, needed):
        versions = locked.get(one.name)
        assert versions, f"{one}: make lock"
        assert all(version in one.specifier for version in versions), f"{one}: make lock"
    assert "LOCKED=1" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


# ---------------------------------------------------------------- the manual page


def test_the_manual_page_is_that_of_the_commands():
    assert manual.PAGE.read_text(encoding="utf-8") == manual.page(), "write it again: make man"


@pytest.mark.skipif(shutil.which("man") is None, reason="man is not installed")
def test_the_manual_page_can_be_read():
    done = subprocess.run(["man", "--warnings", "-l", str(manual.PAGE)], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    text = re.sub(r".\x08", "", done.stdout)
    assert all(f"discreet {name}" in text for name in COMMANDS)
    assert "--epsilon EPSILON" in text


# ---------------------------------------------------------------- the archives


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The source archive and the wheel."""
    pytest.importorskip("build", reason="pip install 'discreet[dist]'")
    out = tmp_path_factory.mktemp("dist")
    return sorted(archives.build(out), key=lambda path: path.suffix)


@pytest.mark.more
def test_archives_are_the_same_bytes_wherever_they_are_built(built, tmp_path):
    assert archives.digests(archives.build_again(built[0], tmp_path)) == archives.digests(built)


@pytest.mark.more
def test_archives_hold_what_they_must(built):
    with tarfile.open(built[0]) as source:
        held = {name.partition("/")[2] for name in source.getnames()}
    expected = {"Makefile", "experiments/reproduce.py", "tests/conftest.py", "pyproject.toml"}
    assert expected | {"distribution/conda/recipe.yaml"} <= held
    with zipfile.ZipFile(built[1]) as wheel:
        names = set(wheel.namelist())
    assert {"discreet/py.typed", "discreet/schemas/documents.json"} <= names
    assert any(name.endswith("share/man/man1/discreet.1") for name in names)
    files = [
        path for path in (ROOT / "src" / "discreet").rglob("*") if path.is_file() and "__pycache__" not in path.parts
    ]
    assert {str(path.relative_to(ROOT / "src")) for path in files} <= names


# ---------------------------------------------------------------- the installed package


@pytest.fixture(scope="module")
def installed(built, tmp_path_factory):
    """The Python of a fresh environment with the wheel and what it needs, nothing else."""
    try:
        return archives.install(built[1], tmp_path_factory.mktemp("environment"))
    except subprocess.CalledProcessError:
        pytest.skip("what discreet needs cannot be installed here")


@pytest.fixture
def call(installed, tmp_path):
    """Run the installed command in an empty folder."""

    def run(*arguments, **environment):
        plain = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "DISCREET_DATA")}
        given = plain | {"HOME": str(tmp_path), "COLUMNS": "200"} | environment
        command = [str(installed.with_name("discreet")), *map(str, arguments)]
        return subprocess.run(command, cwd=tmp_path, env=given, capture_output=True, text=True)

    return run


@pytest.mark.more
def test_commands_work_or_say_what_they_lack(call, tmp_path):
    """In the order in which somebody would try them."""
    assert call("--version").stdout == f"discreet {discreet.__version__}\n"
    listed = call("--help").stdout
    assert all(f" {name} " in listed for name in COMMANDS)
    assert call("demo", "--folder", "d").returncode == 0
    table, schema = "d/people.parquet", "d/people.toml"
    asked = ["--schema", schema, "--epsilon", 1, "--delta", 1e-6]
    done = [
        call("methods"),
        call("check", "d/people.release.json"),
        call("schema", "init", table, "--out", "blank.toml"),
        call("schema", "check", schema, table),
        call("plan", "--schema", schema, "--rows", 1000, "--target", "income", "--epsilon", 1, "--draws", 2),
        call("ledger", "init", "l.ledger", "--account", "us", "--epsilon", 3, "--delta", 1e-5),
        call(
            "fit", table, *asked, "--target", "income", "--ledger", "l.ledger", "--out", "a.json", "--report", "a.html"
        ),
        call("release", table, *asked, "--out", "b.json"),
        call("model", "b.json", "--target", "income", "--out", "m.json"),
        call("predict", "a.json", table, "--out", "p.csv"),
        call("compare", "a.json", "b.json", "--target", "income"),
        call("compare", "b.json", "--table", "--target", "income", "--out", "t.tex"),
        call("bounds", table, "--epsilon", 0.5, "--delta", 1e-6, "--out", "found.toml"),
        call("select", "b.json", "--target", "income"),
        call("pdp", table, "--release", "a.json", "--out", "pdp.parquet"),
        call("ledger", "verify", "l.ledger", "--witness", "a.json"),
        call("audit", "SSP", "--epsilon", 8, "--fits", 40),
    ]
    assert not [[*one.args[1:], one.stderr] for one in done if one.returncode]
    (tmp_path / "people.xlsx").write_bytes(b"PK")
    lacking = {
        "experiments are not part of the installed package": call("reproduce", "--list"),
        'pip install "discreet[sign]"': call("sign", "--new-key", "us"),
        'pip install "discreet[service]"': call("serve", "--demo"),
        'pip install "discreet[excel]"': call("schema", "init", "people.xlsx"),
        'pip install "discreet[word]"': call("compare", "b.json", "--table", "--target", "income", "--out", "t.docx"),
        'pip install "discreet[postgres]"': call(
            "release", "postgresql://h/n", *asked, "--table", "t", "--out", "c.json"
        ),
        'pip install "discreet[dask]"': call("release", table, *asked, "--engine", "dask", "--out", "c.json"),
    }
    assert {one.args[1] for one in (*done, *lacking.values())} | {"demo"} == set(COMMANDS)
    for words, refused in lacking.items():
        assert (refused.returncode, "Traceback" in refused.stderr) == (2, False), refused.stderr
        assert words in " ".join(refused.stderr.split()), refused.stderr


PROGRAM = """\
from discreet import Domain, DPLinearRegression, PrivateMoments, release

domain = Domain({"age": (18, 90), "income": (0, 200_000)})
table = {"age": [30.0, 40.0], "income": [1.0, 2.0]}
model = DPLinearRegression(epsilon=1.0, delta=1e-6, domain=domain)
reveal_type(model.epsilon)
found: PrivateMoments = release(table, domain=domain, epsilon=1.0, delta=1e-6)
reveal_type(found.fit("income").coefficients)
wrong: int = found.fit("income").target
"""


@pytest.mark.more
def test_types_reach_people(installed, tmp_path):
    """mypy, strict, on a program in an empty folder: it knows our types, and finds the one mistake."""
    (tmp_path / "program.py").write_text(PROGRAM)
    command = [sys.executable, "-m", "mypy", "--strict", "--python-executable", str(installed), "program.py"]
    plain = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "MYPYPATH")}
    told = subprocess.run(command, cwd=tmp_path, env=plain, capture_output=True, text=True).stdout
    assert 'Revealed type is "dict[str, float]"' in told.replace("builtins.", ""), told
    assert [line.split(":")[1] for line in told.splitlines() if ": error:" in line] == ["9"], told


@pytest.mark.more
def test_the_bill_of_materials_lists_what_is_installed(installed, tmp_path):
    pytest.importorskip("cyclonedx_py", reason="pip install 'discreet[dist]'")
    for name in ("one.json", "two.json"):
        archives.bill_of_materials(installed, tmp_path / name)
    assert (tmp_path / "one.json").read_bytes() == (tmp_path / "two.json").read_bytes()
    bill = json.loads((tmp_path / "one.json").read_text())
    about = bill["metadata"]["component"]
    assert (bill["bomFormat"], about["name"], about["version"]) == ("CycloneDX", "discreet", discreet.__version__)
    listed = {component["name"].lower() for component in bill["components"]}
    needed = {re.match(r"[\w-]+", one)[0] for one in PROJECT["dependencies"]}
    assert needed <= listed
    archives.licences(tmp_path / "one.json", tmp_path / "licences.txt")
    told = dict(line.split(" ", 1) for line in (tmp_path / "licences.txt").read_text().splitlines())
    assert needed <= {name.lower() for name in told}
    assert all(re.fullmatch(r"\S+: \S.*", words) for words in told.values())


def test_a_package_without_a_licence_stops_the_release(tmp_path):
    bill = tmp_path / "bill.json"
    bill.write_text(json.dumps({"components": [{"name": "rich", "version": "1", "licenses": []}]}))
    with pytest.raises(SystemExit, match="No licence is known of: rich"):
        archives.licences(bill, tmp_path / "out.txt")


# ---------------------------------------------------------------- completion


@pytest.fixture
def shell(installed, tmp_path):
    """Run lines in a shell, in an empty home, with the installed command on the path."""
    given = os.environ | {"HOME": str(tmp_path), "PATH": f"{installed.parent}{os.pathsep}{os.environ['PATH']}"}

    def run(program, script, **more):
        if shutil.which(program) is None:
            pytest.skip(f"there is no {program}")
        done = subprocess.run([program, "-c", script], env=given | more, cwd=tmp_path, capture_output=True, text=True)
        return done.stdout

    return run


@pytest.mark.more
def test_completion_is_installed_by_one_command_and_works_in_bash(shell):
    """As Tab does it: with the words that stand there, and where the cursor is."""
    assert "bash completion installed" in shell("bash", "discreet --install-completion; true")
    asked = {"discreet fi": {"fit"}, "discreet ledger ve": {"verify"}, "discreet fit t.csv --sch": {"--schema"}}
    for line, expected in asked.items():
        tab = f"COMP_WORDS=({line}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); _discreet_completion discreet"
        assert set(shell("bash", f'. ~/.bashrc; {tab}; printf "%s\\n" "${{COMPREPLY[@]}}"').split()) == expected


@pytest.mark.more
def test_completion_works_in_fish(shell):
    assert "fish completion installed" in shell("fish", "discreet --install-completion; true")
    assert shell("fish", "complete -C 'discreet fi'").startswith("fit\tFit a private model")


@pytest.mark.more
def test_zsh_is_answered(shell):
    words = {"_DISCREET_COMPLETE": "complete_zsh", "_TYPER_COMPLETE_ARGS": "discreet fi"}
    assert '"fit":"Fit a private model' in shell("sh", "discreet", **words)
