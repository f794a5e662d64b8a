"""The house: a folder is a stage of the data's way, and a folder is a level; read off the imports in the source."""

import ast
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import discreet

ROOT = Path(discreet.__file__).parent
COMMON = ("errors", "core", "domain", "families", "statistics", "privacy")
PUBLIC = ("solve", "recipes", "released", "results")
PRIVATE = ("data",)
LEVELS = {
    # folder: the folders it may import from, besides itself
    "errors": (),
    "core": ("errors",),
    "domain": ("errors", "core"),
    "families": ("errors", "core", "domain"),
    "statistics": ("errors", "core", "domain", "families"),
    "privacy": ("errors", "core", "domain", "families", "statistics"),
    "solve": COMMON,
    "recipes": (*COMMON, "solve"),
    "released": (*COMMON, "solve", "recipes"),
    "results": (*COMMON, "solve", "recipes", "released"),
    "ledger": (*COMMON, *PUBLIC),
    "data": COMMON,
    "gate": (*COMMON, *PUBLIC, *PRIVATE, "ledger"),
    "drivers": (*COMMON, *PUBLIC, *PRIVATE, "ledger", "gate"),
    "models": (*COMMON, *PUBLIC, *PRIVATE, "ledger", "gate", "drivers"),
    "mechanisms": (*COMMON, *PUBLIC, *PRIVATE, "ledger", "gate", "drivers", "models"),
    "per_instance": (*COMMON, *PUBLIC, *PRIVATE),
    "planning": (*COMMON, *PUBLIC, *PRIVATE, "ledger", "gate", "drivers", "models", "mechanisms"),
    "audit": (*COMMON, *PUBLIC, *PRIVATE, "ledger", "gate", "drivers", "models", "mechanisms", "per_instance"),
    "client": (*COMMON, *PUBLIC),
    "service": (*COMMON, *PUBLIC, *PRIVATE, "ledger", "gate", "drivers", "models", "mechanisms", "planning"),
    "cli": (
        *COMMON,
        *PUBLIC,
        *PRIVATE,
        "ledger",
        "gate",
        "drivers",
        "models",
        "mechanisms",
        "per_instance",
        "planning",
        "audit",
        "service",
    ),
}
REPLAY = "drivers.replay"
"""The driver that answers from a file: public, on the level of recipes."""
IN_MECHANISMS = {"event": "privacy", "release": "gate", "loss": "per_instance", "density": "audit"}
"""Inside `mechanisms` the last word of a file's name tells its level; other files are on that of the folder."""
DRAWING = {"gate.entropy", "gate.noise", "mechanisms.posterior_sampling.ball_release"}
"""Where random words come from, and what is made of them."""
LINES, FUNCTION_LINES = 500, 60


def module(path):
    """Name of a file's module without the package: '' for the package itself, 'data' for data/__init__.py."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


FILES = {module(path): path for path in sorted(ROOT.rglob("*.py"))}
INSIDE = [name for name in FILES if name not in ("", "__main__")]


def folder(name):
    return name.partition(".")[0]


def level(name):
    """The folder that a module counts as: its own, or in `mechanisms` the one that its file is named for."""
    if name == REPLAY:
        return "recipes"
    last = name.rpartition(".")[2].rpartition("_")[2]
    return IN_MECHANISMS.get(last, "mechanisms") if folder(name) == "mechanisms" else folder(name)


@cache
def tree(name):
    return ast.parse(FILES[name].read_text(encoding="utf-8"))


def statements(node, typing=False):
    """Import statements anywhere below a node, inside functions too, and whether they are for types only."""
    for child in ast.iter_child_nodes(node):
        only = typing or (isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test))
        if isinstance(child, (ast.Import, ast.ImportFrom)):
            yield child, only
        yield from statements(child, only)


def own(name, imported, what):
    """The module of ours that `from imported import what` or `import imported` reaches, or None."""
    if imported.split(".")[0] != "discreet":
        return None
    inner = imported.removeprefix("discreet").lstrip(".")
    deeper = f"{inner}.{what}".lstrip(".") if what else inner
    if deeper in FILES:
        return deeper
    assert inner in FILES, f"discreet.{name} imports {imported}, which does not exist"
    return None if (inner, what) == ("", "__version__") else inner


@cache
def imports(name, types=True):
    """Modules of ours and of others that a module imports anywhere, inside functions too."""
    ours, others = set(), set()
    for node, only in statements(tree(name)):
        if only and not types:
            continue
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"discreet.{name} has a relative import"
            pairs = [(node.module, alias.name) for alias in node.names]
        else:
            pairs = [(alias.name, None) for alias in node.names]
        for imported, what in pairs:
            mine = own(name, imported, what)
            if mine is not None:
                ours.add(mine)
            others.add(imported.split(".")[0])
    return frozenset(ours - {name}), frozenset(others)


def closure(name):
    """Every module of ours that a module reaches, by any number of steps; packages it lies in do not count."""
    reached, new = set(), {name}
    while new:
        reached |= new
        new = {other for known in new for other in imports(known)[0]} - reached
    return reached - {name}


def test_every_folder_has_a_level_and_stands_below_what_it_imports():
    assert {folder(name) for name in INSIDE} == set(LEVELS)
    for name, above in LEVELS.items():
        places = list(LEVELS)
        assert all(places.index(other) < places.index(name) for other in above)


def test_the_page_on_architecture_lists_the_folders_in_this_order():
    page = (ROOT.parents[1] / "docs" / "reference" / "architecture.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)(?:/|\.py)` \|", page, re.MULTILINE)
    assert rows == list(LEVELS)


@pytest.mark.parametrize("name", INSIDE)
def test_a_module_imports_only_from_its_folder_and_those_above(name):
    allowed = {level(name), *LEVELS[level(name)]}
    for other in imports(name)[0]:
        assert level(other) in allowed, f"discreet.{name} must not import discreet.{other}"


def test_no_module_reaches_itself():
    """No cycles, imports inside functions included; an import for a type annotation is none, for it never runs."""
    left = {name: set(imports(name, types=False)[0]) for name in FILES}
    while free := [name for name, others in left.items() if not others & set(left)]:
        for name in free:
            del left[name]
    assert not left, f"cycles among {sorted(left)}"


@pytest.mark.parametrize("name", [name for name in FILES if level(name) in PUBLIC])
def test_the_public_side_never_reaches_the_private_side(name):
    assert {level(other) for other in closure(name)} <= {*COMMON, *PUBLIC}


@pytest.mark.parametrize("name", [name for name in FILES if level(name) in PRIVATE])
def test_the_private_side_reaches_neither_noise_nor_releases(name):
    assert {level(other) for other in closure(name)} <= {*COMMON, *PRIVATE}


def test_the_closure_sees_what_it_must():
    """The tests above would be empty if imports inside functions, or second steps, went unseen."""
    assert "domain.schema" in imports("domain.domain")[0]
    assert {"released.moments", "core.files", "domain.columns"} <= closure("results.results")
    assert {"data.moments", "data.sources.parquet", "gate.entropy", "released.moments"} <= closure("drivers.run")


# -------------------------------------------------------------------- noise only from a charged session


def imported_names(name):
    """Pairs (module of ours, name) of all `from ... import ...`."""
    for node, _ in statements(tree(name)):
        if isinstance(node, ast.ImportFrom) and node.module.startswith("discreet."):
            yield from ((node.module.removeprefix("discreet."), alias.name) for alias in node.names)


def entropies(function):
    """The parameters of a function that are annotated as an Entropy."""
    given = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    return [a.arg for a in given if a.annotation is not None and ast.unparse(a.annotation) == "Entropy"]


def drawers(name):
    """Names of the functions, of the methods, and of the classes of a module that are given an Entropy."""
    plain, methods = set(), set()
    for node in tree(name).body:
        if isinstance(node, ast.FunctionDef) and entropies(node):
            plain.add(node.name)
        for inner in node.body if isinstance(node, ast.ClassDef) else ():
            if isinstance(inner, ast.FunctionDef) and entropies(inner):
                (plain if inner.name == "__init__" else methods).add(
                    node.name if inner.name == "__init__" else inner.name
                )
    return plain, methods


GATE = [
    name
    for name in FILES
    if level(name) in ("gate", "drivers") and name not in ("gate", "gate.entropy", "gate.session")
]
METHODS = set().union(*(drawers(name)[1] for name in GATE)) | {"words"}


def draws(node, plain):
    """The expression that a call takes its random words from, or None where it takes none."""
    if isinstance(node.func, ast.Attribute) and node.func.attr == "words":
        return node.func.value
    by_name = isinstance(node.func, ast.Name) and node.func.id in plain
    by_method = isinstance(node.func, ast.Attribute) and node.func.attr in METHODS
    return node.args[-1] if by_name or by_method else None


def unpaid(node, plain, paid=frozenset(), held=False):
    """Calls that draw from anything but an Entropy that is a parameter, or that a charge has just returned."""
    if isinstance(node, ast.ClassDef):
        held = any(isinstance(inner, ast.FunctionDef) and entropies(inner) for inner in node.body)
    if isinstance(node, ast.FunctionDef):
        paid = paid | set(entropies(node))
        for inner in ast.walk(node):
            called = inner.value.func if isinstance(inner, ast.Assign) and isinstance(inner.value, ast.Call) else None
            if isinstance(called, ast.Attribute) and called.attr == "charge":
                paid = paid | {target.id for target in inner.targets if isinstance(target, ast.Name)}
    if isinstance(node, ast.Call) and (words := draws(node, plain)) is not None:
        own = held and ast.unparse(words) == "self._source"
        if not own and not (isinstance(words, ast.Name) and words.id in paid):
            yield ast.unparse(node)
    for child in ast.iter_child_nodes(node):
        yield from unpaid(child, plain, paid, held)


def test_nothing_outside_the_gate_draws():
    """Others may name `NO_NOISE`, no source of random words and nothing that draws from one."""
    for name in INSIDE:
        if level(name) in ("gate", "drivers"):
            continue
        assert not DRAWING & {module for module, what in imported_names(name) if what != "NO_NOISE"}, name
        for module, what in imported_names(name):
            assert level(module) != "gate" or what not in drawers(module)[0] | DRAWING, f"{name} imports {what}"
            assert (module, what) not in {tuple(module.rsplit(".", 1)) for module in DRAWING}, name


def test_only_a_session_makes_random_words():
    for name in GATE:
        makers = {what for module, what in imported_names(name) if module in ("gate.entropy", "gate")}
        assert makers <= {"Entropy", "NO_NOISE", "GUARD", "Uniform", "Words", "precise"}, name
        assert not {"os", "random", "secrets", "uuid"} & imports(name)[1], name
        seen = {ast.unparse(node) for node in ast.walk(tree(name)) if isinstance(node, ast.Attribute)}
        assert name == "mechanisms.napp.release" or not any(text.startswith("np.random") for text in seen), name
        states = [node for node in ast.walk(tree(name)) if isinstance(node, ast.Name) and node.id == "random_state"]
        calls = [node for node in ast.walk(tree(name)) if isinstance(node, ast.Call)]
        begun = [node for call in calls if ast.unparse(call.func) == "Session" for node in call.args]
        assert all(state in begun for state in states), f"{name} uses a random_state"


@pytest.mark.parametrize("name", GATE)
def test_every_draw_is_from_a_parameter_or_from_a_charge(name):
    for node in ast.walk(tree(name)):
        if isinstance(node, ast.FunctionDef) and entropies(node):
            assert node.args.args[-1].arg == entropies(node)[-1], f"{node.name}: the Entropy is the last argument"
    given = {
        what
        for module, what in imported_names(name)
        if level(module) in ("gate", "drivers") and what in drawers(module)[0]
    }
    assert list(unpaid(tree(name), given | drawers(name)[0])) == []


def calls(node, name):
    """How often a function calls a method of a session."""
    called = [inner.func for inner in ast.walk(node) if isinstance(inner, ast.Call)]
    return [ast.unparse(func) for func in called].count(f"session.{name}")


@pytest.mark.parametrize("name", GATE)
def test_whoever_charges_commits(name):
    """So that every certificate names the entry that paid for it, and the entry its certificate."""
    for node in ast.walk(tree(name)):
        if isinstance(node, ast.FunctionDef) and calls(node, "charge"):
            assert calls(node, "commit"), f"{name}.{node.name} never commits what it charged"
            returned = [ast.unparse(inner) for inner in ast.walk(node) if isinstance(inner, ast.Return)]
            assert not any(text.startswith("return certificate") for text in returned), node.name


@pytest.mark.parametrize("name", [name for name in GATE if folder(name) == "mechanisms"])
def test_mechanisms_are_released_by_the_one_driver(name):
    for method in ("charge", "certify", "commit"):
        assert not calls(tree(name), method), f"{name} leaves this to gate.once"


WITHOUT = {
    "napp": {"loss": "nothing is accounted, so everybody has the certificate's own curve"},
    "reuse_covariance": {"release": "statistics, by drivers.run", "loss": "Gaussian sums, by per_instance"},
}
"""Files that a mechanism with an event of its own does without, with the reason."""


def test_a_mechanism_has_all_of_its_files_in_one_folder():
    found = {}
    for name in FILES:
        if name.count(".") == 2 and folder(name) == "mechanisms":
            _, mechanism, file = name.split(".")
            found.setdefault(mechanism, set()).add(file)
    for mechanism, files in found.items():
        if "event" in files:
            missing = {"release", "loss", "density", "estimator"} - files
            assert missing == set(WITHOUT.get(mechanism, ())), mechanism


def test_events_are_asked_and_hardly_ever_told_apart():
    told = [ast.unparse(node) for name in FILES for node in ast.walk(tree(name)) if isinstance(node, ast.Call)]
    assert len([text for text in told if re.match(r"isinstance\(.*(?<!Ask)Event\b", text)]) < 10


def test_draws_that_are_not_paid_are_seen():
    """The test above would be empty if it missed what it is for."""
    plain = {"add_normal"}
    for code in (
        "def f(session):\n    add_normal(0, 1, session.entropy)",
        "def f(session):\n    add_normal(0, 1, entropy)\n",
        "def f(x):\n    OSEntropy().words(3)",
        "def f(source: Any):\n    source.words(3)",
        "class A:\n    def f(self):\n        self._source.words(3)",
        "def f(ridge, release):\n    ridge.draw(1, release.source)",
    ):
        assert len(list(unpaid(ast.parse(code), plain))) == 1, code
    paid = "def f(session):\n    entropy = session.charge()\n    return [add_normal(0, 1, entropy) for _ in range(3)]"
    assert not list(unpaid(ast.parse(paid), plain))


# ---------------------------------------------------------------- whom a promise protects

_FILES = "reads what was written down, its unit too"
_SCHEMA = "reads what the curator declares, the unit too"
DOMAINS = {
    "Domain(...)": {
        "audit.one_run": "a made-up table of canaries, each of whom has one row",
        "audit.subjects": "the made-up tables that methods are attacked on",
        "cli.bounds": "all numbers and dates of a file, with the unit that options tell",
        "cli.asking": "what people answer, column by column, before there is a schema",
        "data.device.device": "made-up numbers, on which a device is tried",
    },
    "Domain.from_bounds(...)": {
        "models.base": "arrays, beside which `fit` is told whose rows are and what they count",
        "mechanisms.sufficient_statistics.trivial": "nothing is read, and nothing released",
    },
    "Domain.from_dict(...)": {
        "client.client": _SCHEMA,
        "data.counts": _FILES,
        "data.moments": _FILES,
        "data.worker": "what an engine sends to its workers, the unit too",
        "service.steps": _SCHEMA,
    },
    "record(Domain)": {"planning.facts": "written only, its unit too", "released.certificate": _FILES},
    "Domain.from_file(...)": {
        **dict.fromkeys(("cli.demo", "cli.fit", "cli.ledger", "cli.pdp", "cli.plan", "cli.release"), _SCHEMA),
        **dict.fromkeys(("cli.bounds", "cli.schema", "service.settings"), _SCHEMA),
    },
    ".of_rows()": {
        "data.tables": "counts the columns of an array before those of the unit are put beside them; reads no row",
        "models.base": "rows to predict for, of which nothing is released",
        "models.predictions": "rows to predict for, of which nothing is released",
        "planning.models": "made-up rows, at the epsilon at which their noise is that of persons",
        "planning.simulation": "made-up rows, at the epsilon at which their noise is that of persons",
    },
    "Unit(...)": {},
    "ROWS": {},
    "._with(...)": {},
}
"""Where a domain, or its unit, comes from other than a domain with the same unit, with the reason; nowhere else."""


def unit_makers(node):
    """What makes a domain, or leaves out its unit, below a node."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.ImportFrom) and (inner.module or "").startswith("discreet.domain"):
            names = [alias for alias in inner.names if alias.name in ("Domain", "Unit", "ROWS")]
            yield from (f"{alias.name} as {alias.asname}" for alias in names if alias.asname)
            yield from ("ROWS" for alias in names if alias.name == "ROWS")
        if not isinstance(inner, ast.Call):
            continue
        called = ast.unparse(inner.func)
        if ast.unparse(inner) == "record(Domain)":
            yield "record(Domain)"
        if called.removeprefix("Domain.").isidentifier() and called.partition(".")[0] in ("Domain", "Unit"):
            yield f"{called}(...)"
        if (
            isinstance(inner.func, ast.Attribute)
            and inner.func.attr == "of_rows"
            and not called.endswith("Spectrum.of_rows")
        ):
            yield ".of_rows()"
        if isinstance(inner.func, ast.Attribute) and inner.func.attr == "_with":
            yield "._with(...)"
        if called.endswith("__new__") and any(ast.unparse(given) == "Domain" for given in inner.args):
            yield "__new__(Domain)"


def test_a_domain_is_changed_by_its_own_methods_so_that_its_unit_stays():
    others = [name for name in INSIDE if name not in ("domain.domain", "domain.unit")]
    found = {(what, name) for name in others for what in unit_makers(tree(name))}
    assert found == {(what, name) for what, listed in DOMAINS.items() for name in listed}


def test_domains_that_leave_out_their_unit_are_seen():
    for code in (
        "Domain(columns, missing=domain.missing)",
        "Domain.from_dict(facts)",
        "f(domain.select(names).of_rows())",
        "domain._with(unit=Unit())",
        "from discreet.domain import Domain as D",
        "from discreet.domain.unit import ROWS",
        "object.__new__(Domain)",
    ):
        assert list(unit_makers(ast.parse(code))), code
    kept = "domain.with_columns(columns).with_missing('drop').select(names).with_unit(person='id')"
    assert not list(unit_makers(ast.parse(kept)))


OPTIONAL = {
    "pandas": ["results.series"],
    "opendp": [],
    "polars": ["audit.paths", "data.sources.polars"],
    "duckdb": ["audit.paths", "data.sources.duckdb"],
    "dp_accounting": ["mechanisms.gradient_descent.event"],
    "openpyxl": ["data.sources.excel", "results.export"],  # reads private rows, writes public results
    "docx": ["results.export"],
    "psycopg": ["ledger.storage.postgres"],
    "pyspark": ["data.engines.spark"],
    "dask": ["audit.paths", "data.engines.dask"],
    "distributed": ["data.engines.dask"],
    "adbc_driver_postgresql": ["data.sources.postgres"],
    "fsspec": ["data.sources.stored"],
    "torch": ["data.device.arrays"],
    "httpx2": ["client.client"],
    "authlib": ["service.oidc"],
}


@pytest.mark.parametrize("package", OPTIONAL)
def test_packages_of_users_are_imported_by_the_files_that_are_for_them(package):
    assert [name for name in FILES if package in imports(name)[1]] == OPTIONAL[package]


def test_packages_of_users_are_imported_only_when_used():
    """Scikit-learn may import pandas."""
    heavy = (
        "{'polars', 'duckdb', 'opendp', 'dp_accounting', 'psycopg', 'openpyxl', 'docx', 'pyspark', 'dask', 'fsspec', "
        "'fastapi', 'sqlalchemy', 'httpx2', 'torch'}"
    )
    code = f"import sys, discreet.cli; sys.exit(bool({heavy} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("name", FILES)
def test_files_and_functions_stay_small(name):
    path = FILES[name]
    assert len(path.read_text(encoding="utf-8").splitlines()) <= LINES
    for node in ast.walk(tree(name)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            assert node.end_lineno - node.lineno < FUNCTION_LINES, f"{name}.{node.name} is too long"


def isort_style(name):
    """Constants, then classes, then functions, each in order of the alphabet."""
    return not name.isupper(), not name[0].isupper(), name


def test_exports_are_sorted_and_complete():
    exported = discreet.__all__
    assert exported == sorted(exported, key=isort_style)
    assert len(set(exported)) == len(exported)
    typed = {alias.name: node.module for node, only in statements(tree("")) if only for alias in node.names}
    assert set(exported) == set(typed)
    assert typed == discreet._HOME | {"per_instance": "discreet"}
    assert all(hasattr(discreet, name) for name in exported)


def test_old_names_of_public_modules_lead_to_their_new_homes():
    names = ["plots.coefficient_plot", "theory.regime", "multi.regime", "registry.METHODS", "papers.registry.METHODS"]
    names += ["privacy.events.iterates.unpack", "privacy.events.napp.least_scale"]
    code = "import warnings; warnings.simplefilter('always'); import discreet\n"
    code += "".join(f"from discreet.{old} import {what}\n" for old, what in (name.rsplit(".", 1) for name in names))
    code += "".join(f"discreet.{name}\n" for name in names)
    told = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stderr
    for name in names:
        assert f"discreet.{name.rpartition('.')[0]} is now discreet." in told


def test_help_and_import_load_no_package_of_numbers():
    """So the command line answers at once, and `import discreet` costs nothing that is not used."""
    heavy = "{'numpy', 'scipy', 'pandas', 'pyarrow', 'matplotlib', 'sklearn', 'mpmath'}"
    for loaded in ("import discreet", "from discreet.cli import main; sys.argv = ['discreet', '--help']; main()"):
        code = (
            f"import sys\ntry:\n    import discreet; {loaded}\nexcept SystemExit:\n    pass\n"
            f"sys.exit(str({heavy} & set(sys.modules)) if {heavy} & set(sys.modules) else 0)"
        )
        told = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
        assert told.returncode == 0, told.stderr


def test_commands_are_listed_in_the_words_of_their_own_help():
    from discreet.cli.commands import COMMANDS, load

    for name, words in COMMANDS.items():
        assert " ".join(load(name).help.split("\n\n")[0].split()) == words
