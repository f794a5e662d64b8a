"""What people see: help with examples, words that never quote data, a clean stop, and a demo that works."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
import tomllib
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from small_table import SCHEMA, people

import discreet
from discreet import PrivateMoments

ROWS = 1049
WORD, NUMBER = "zyxsecretzyx", 47.31618033988
FIT = ["fit", "t.parquet", "--schema", "t.toml", "--target", "income", "--epsilon", 1, "--delta", 1e-6]
RELEASE = ["release", "t.parquet", "--schema", "t.toml", "--epsilon", 1, "--delta", 1e-6]


def write(folder, frame=None, schema=SCHEMA):
    frame = people(ROWS) if frame is None else frame
    pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), folder / "t.parquet")
    (folder / "t.toml").write_text(schema)


def shell(*arguments, cwd, **options):
    """Start `python -m discreet`; Ctrl-C reaches it even where the tests run in the background."""
    return subprocess.Popen(
        [sys.executable, "-m", "discreet", *map(str, arguments)],
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"COLUMNS": "200"},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        **options,
    )


# -------------------------------------------------------------------- help


COMMANDS = [
    "fit",
    "release",
    "bounds",
    "model",
    "predict",
    "compare",
    "select",
    "check",
    "audit",
    "methods",
    "pdp",
    "plan",
    "reproduce",
    "demo",
    "schema init",
    "schema show",
    "schema check",
    "sign",
    "serve",
    *(
        f"ledger {name}"
        for name in ("init", "show", "history", "export", "verify", "plan", "backup", "restore", "migrate")
    ),
]


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_each_command_has_an_example(command, run):
    ran = run(*command.split(), "--help")
    assert ran.code == 0
    assert f"Example: discreet {command}" in ran.said


def test_the_overview_names_every_command(run):
    ran = run("--help")
    assert ran.code == 0
    assert all(command.split()[0] in ran.said for command in COMMANDS)
    assert "discreet demo" in ran.said


def test_every_command_of_the_program_is_in_this_list():
    from discreet.cli import commands

    groups = {name: commands.load(name) for name in commands.COMMANDS}
    names = [name for name, group in groups.items() if not hasattr(group, "commands")]
    names += [f"{name} {inner}" for name, group in groups.items() for inner in getattr(group, "commands", ())]
    assert sorted(names) == sorted(COMMANDS)


def test_the_version(run):
    from discreet import __version__

    assert run("--version").said == f"discreet {__version__}"


def test_a_wrong_option_points_to_the_help(run):
    ran = run("fit", "--epsilonn", 1)
    assert ran.code == 2
    assert "--help" in ran.said or "--epsilon" in ran.said


# -------------------------------------------------------------------- schemas come from names and types only


def spoil_values(path):
    """Overwrite everything but the magic bytes and the footer: names and types stay, values cannot be read."""
    content = bytearray(path.read_bytes())
    footer = int.from_bytes(content[-8:-4], "little") + 8
    content[4:-footer] = bytes([0xFF]) * (len(content) - footer - 4)
    path.write_bytes(content)


def test_schema_commands_never_read_values(run, tmp_path):
    write(tmp_path)
    spoil_values(tmp_path / "t.parquet")
    assert run("schema", "init", "t.parquet", "--out", "form.toml").code == 0
    assert "age" in (tmp_path / "form.toml").read_text()
    assert run("schema", "check", "t.toml", "t.parquet").code == 0
    ran = run(*FIT)  # which does read values
    assert ran.code == 2
    assert "t.parquet is damaged" in ran.said


def test_schema_init_knows_nothing_but_names_and_types(run, tmp_path):
    forms = []
    for seed in (1, 2):
        write(tmp_path, people(50 * seed, seed=seed))
        assert run("schema", "init", "t.parquet", "--out", f"{seed}.toml").code == 0
        forms.append((tmp_path / f"{seed}.toml").read_text())
    assert forms[0] == forms[1]


def test_schema_init_writes_the_separator_of_the_first_line(run, tmp_path):
    (tmp_path / "t.csv").write_text("age;income\n1;2,5\n")
    assert run("schema", "init", "t.csv", "--out", "form.toml").code == 0
    form = (tmp_path / "form.toml").read_text()
    assert tomllib.loads(form)["file"] == {"sep": ";"}
    assert "decimal comma" in form
    assert run("schema", "init", "t.csv", "--decimal", ",", "--out", "other.toml").code == 0
    assert tomllib.loads((tmp_path / "other.toml").read_text())["file"] == {"sep": ";", "decimal": ","}


# -------------------------------------------------------------------- no words about data


def planted(column=None, value=None):
    """A table that holds the secrets, and something wrong in one column."""
    frame = people(ROWS)
    frame.loc[17, ["age", "hours"]] = NUMBER
    frame.loc[18, "income"] = NUMBER * 1000
    if column is not None:
        frame[column] = frame[column].astype(object)
        frame.loc[19, column] = value
    return frame


TABLES = {
    "sound": (planted(), 0),
    "unknown level": (planted("region", WORD), 2),
    "missing level": (planted("region", None), 2),
    "missing number": (planted("age", float("nan")), 2),
    "infinite number": (planted("income", float("inf")), 2),
    "text for numbers": (planted().assign(hours=WORD), 2),
}
SECRETS = re.compile(rf"{WORD}|47\.316|47316\.1|(?<![\d.]){ROWS}(?!\d|\.\d*[1-9])|(?<![\d.])1,049")


@pytest.mark.parametrize(
    "command", [FIT, RELEASE, [*FIT, "--method", "AdaSSP"], [*FIT, "--json"], [*FIT, "--report", "r.html"]]
)
@pytest.mark.parametrize("name", TABLES)
def test_no_command_quotes_data_or_counts(name, command, run, tmp_path):
    frame, code = TABLES[name]
    write(tmp_path, frame)
    ran = run(*command)
    assert ran.code == code
    assert SECRETS.search(ran.out + ran.err) is None
    assert "Traceback" not in ran.err
    assert (tmp_path / "r.html").exists() == (code == 0 and "--report" in command)
    if code:
        assert "Column" in ran.err


def test_the_search_for_secrets_finds_them():
    for text in (WORD, f"age {NUMBER}", f"{NUMBER * 1000:.6f}", f"{ROWS} rows", "1,049 people", f"({ROWS}, 4)"):
        assert SECRETS.search(text)
    assert not SECRETS.search(f"1{ROWS} {ROWS}7 0.{ROWS}")


@pytest.mark.parametrize("debug", [False, True])
def test_internal_errors_hide_their_details_unless_asked(debug, run, tmp_path, monkeypatch):
    def fail(*_, **__):
        raise RuntimeError(f"row 17 holds {NUMBER}")

    write(tmp_path)
    monkeypatch.setattr("discreet.domain.encoding.Encoder.finish", fail)
    if debug:
        monkeypatch.setenv("DISCREET_DEBUG", "1")
        with pytest.raises(RuntimeError, match="row 17"):
            run(*FIT)
        return
    monkeypatch.delenv("DISCREET_DEBUG", raising=False)
    ran = run(*FIT)
    assert ran.code == 2
    assert "RuntimeError" in ran.said
    assert "DISCREET_DEBUG=1" in ran.said
    assert SECRETS.search(ran.said) is None
    assert "row 17" not in ran.said


# -------------------------------------------------------------------- Ctrl-C


def write_long(path):
    """A file that takes a while to read and hardly any to write."""
    table = pa.Table.from_pandas(people(200), preserve_index=False)
    group = pa.concat_tables([table] * 2500).combine_chunks()
    with pq.ParquetWriter(path, table.schema) as writer:
        for _ in range(120):
            writer.write_table(group)


def is_reading(process, path):
    folder = Path(f"/proc/{process.pid}/fd")
    try:
        return any(fd.is_symlink() and fd.readlink() == path for fd in folder.iterdir())
    except OSError:
        return False


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc to see when reading has begun")
@pytest.mark.parametrize("command", [FIT, RELEASE], ids=["fit", "release"])
@pytest.mark.more
def test_ctrl_c_stops_with_130_and_leaves_no_file(command, tmp_path):
    write_long(tmp_path / "t.parquet")
    (tmp_path / "t.toml").write_text(SCHEMA)
    before = sorted(tmp_path.iterdir())
    process = shell(*command, "--n-jobs", 1, cwd=tmp_path)
    deadline = time.monotonic() + 300
    while not is_reading(process, tmp_path / "t.parquet"):
        assert process.poll() is None, "it ended before it could be stopped"
        assert time.monotonic() < deadline
        time.sleep(0.02)
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=300)
    assert process.returncode == 130, err
    assert "Stopped" in err
    assert "Traceback" not in err
    assert out == ""
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("more", ["", "except KeyboardInterrupt: raise ImportError('half imported')"])
def test_ctrl_c_while_the_command_line_is_loaded(more, tmp_path):
    """A package that it needs sends the signal when it is imported."""
    (tmp_path / "typer.py").write_text(
        f"import signal\ntry: signal.raise_signal(signal.SIGINT)\n{more or 'finally: pass'}\n"
    )
    found = os.pathsep.join([str(tmp_path), str(Path(discreet.__file__).parents[1])])
    given = {"capture_output": True, "text": True, "cwd": tmp_path, "env": os.environ | {"PYTHONPATH": found}}
    ran = subprocess.run([sys.executable, "-m", "discreet", "--help"], check=False, **given)
    assert (ran.returncode, ran.stdout, ran.stderr) == (130, "", "Stopped.\n")
    library = subprocess.run([sys.executable, "-c", "import discreet.cli"], check=False, **given)
    assert "Traceback" in library.stderr, "a program that imports the library is told as usual"
    assert "Stopped" not in library.stderr


def test_ctrl_c_is_told_from_an_error_that_it_causes(run, monkeypatch):
    """As in threading.Condition, whose lock may be open when Ctrl-C comes: KeyboardInterrupt becomes RuntimeError."""
    from discreet.cli import commands

    def interrupted(*_args, **_options):
        lock = threading.Lock()
        with lock:
            lock.release()
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(commands, "app", interrupted)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where tests run in the background
    try:
        ran = run(*FIT)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
    assert ran.code == 130
    assert "Stopped" in ran.said


# -------------------------------------------------------------------- the demo


def test_the_demo_shows_both_fits_the_certificate_and_its_files(tmp_path):
    process = shell("demo", "--folder", "X", cwd=tmp_path)
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    assert sorted(path.name for path in (tmp_path / "X").iterdir()) == [
        "people.parquet",
        "people.release.json",
        "people.report.html",
        "people.toml",
    ]
    said = " ".join(out.split())
    for words in (
        "estimate non-private",
        "Certificate",
        "epsilon = 1",
        "X/people.release.json",
        "X/people.report.html",
    ):
        assert words in said
    rows = [re.findall(r"-?[\d,]+\.?\d*", line) for line in out.splitlines() if re.search(r"age .*EUR/year", line)]
    private, plain = (float(number.replace(",", "")) for number in rows[0][:2])
    assert private == pytest.approx(plain, rel=0.3)
    released = PrivateMoments.load(tmp_path / "X" / "people.release.json")
    assert all(finding.ok for finding in released.certificate.check())
    assert released.certificate.guarantee.status == "verified"
    assert np.isfinite(list(released.fit("income").params)).all()
