"""The UCI regression sets of wang2018, by name, and that paper's way of preparing them."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

LARGE = ("3droad", "buzz", "houseelectric", "slice", "song")
"""Sets of the paper that are public but too large to come with the studies' data: put NAME.csv or NAME.csv.gz there."""

SHA256 = {
    "airfoil": "1cce82516ac9e564fba52f55d817eb147fc39085f5d7b958ad15b92f4207f23e",
    "autompg": "31989fbdd7083b901b9f02958581bce9f697e8c27bb3b0d1d0a1cd6d04d6b6c2",
    "autos": "375efebd3287d10d3f278a424e173648ef7d2b7808f8e4ea68a4b326fac221d9",
    "bike": "411f76ae426c0e348a2629dcf6b3b29102c7db465eae780a3454c39db1dfac4f",
    "breastcancer": "2513d5f1037967b10e34972e0bf2ae3a57cf6b2d3a250b2001da10115db4f8e1",
    "challenger": "2cbf94937ccdf235b4a24006b74dc2132b620fa7516e0c7b7838e37d7a974f7a",
    "concrete": "542c5d9a0d301bdb47550280398dcbbe2fb8404631fc945de1ea6df9ade741c6",
    "concreteslump": "6e5cf235fccd8ca8ba2631bd935a8c8f3ee9cc702bfa242b59995a8d2133dd77",
    "elevators": "e39bc18a80ec3611e4fd76d0f86ee377e96ba21b568b9997576d538dafe56b7b",
    "energy": "431b6df04243db782bbcd45e408373a654334496ebe5d9c9985ab2e826a39f51",
    "fertility": "625fa438350ac2da26eafef2c9dd3878755ef707af309c7f441df14412899e29",
    "forest": "36f3177c8e2e3d8773c0e34116d93ce37f9d58189d861d661bdde2f022999ee7",
    "gas": "bd82bee47199d3952bee30a59739794b26baa742e1da7f7bd42b9a34552321a1",
    "housing": "9f5b8a1cbc051465dcf10f4298aaccd8a596ea68de0db693159be6e7d07ccf12",
    "keggdirected": "51b7bb56e3f3eae36273cdd5a549c042bdf0ec10948a6f8e6b01a1d6912212cd",
    "keggundirected": "117419270e50f581df18bf996ffc8b6bf1bb76c9f3640331ac9d6e64cff63d4e",
    "kin40k": "9bee7f2a9f39aa61a015f239378368601fb3978c5bb9a96433e88a55d40883ba",
    "machine": "aae8f76a052a874dc45b363124515a5192d6ff7dafad04752e87683199babca4",
    "parkinsons": "d20ffd9c9e5053a03fff0b770e7b0e076bf856a34538198303c897b6cc6addde",
    "pendulum": "f342636da3047aeb5393a3163974f50e94098c1df9392423e61161eedac2de9e",
    "pol": "1c16126352954571e78f52d5a9d1b947a38655885d7cadd9407a4c9615fe4e04",
    "protein": "f709d0107c3ee90ab019b9e5d77fc2ae182158958cb70b1903236a51334fd01b",
    "pumadyn32nm": "10d1698944e0f6e586f2781e4b62c17c05174d4c6cdb6fb824a3e5a1b3630ae4",
    "servo": "1c18994b739e50bf8dde9d5863680d8aa8ac8f71944adcde1368acac094be6b9",
    "skillcraft": "41233f5ea6bf596b04aa64f5eaf9bf4489ddeec53524fe2cc46d75bc7d480c0e",
    "sml": "d7c7e68697fa616bac790f9b50f0c6ea7f5e946a5084792b6ccbe76f8b18baa1",
    "solar": "71f4aa956db1a443c4f8c2c70e213c82cd8fbfc52b2da955d22283d7b9f68fc8",
    "stock": "d196f315d7c19634f0f549edba569c6c0413e1602837344879dd4b5340470982",
    "tamielectric": "63507ad1493bd7f36436a900bd2bebaf957d326c6cc20120ab5aefe680f3083a",
    "wine": "e2ca3346651ddb43fbc6a1355e70e74b7ce68f93059e04405e9cb749c219eae2",
    "yacht": "88ec8ea1a979ab0628a54392822c60b3699ea22541e912e83246f7d49f5adad1",
}
NAMES = tuple(SHA256)


def data_folder(given: str | Path | None = None) -> Path | None:
    """The folder with the studies' data: the one given, or the one that DISCREET_DATA names, or None."""
    named = given or os.environ.get("DISCREET_DATA")
    return Path(named) if named else None


def available(folder: Path) -> tuple[str, ...]:
    """The sets that a folder holds, in order of name; those that are large may lie there as plain text."""
    held = {path.name.split(".")[0] for path in (folder / "uci").glob("*.csv.gz")}
    return tuple(sorted(held | {name for name in LARGE if (folder / "uci" / f"{name}.csv").exists()}))


def load(name: str, folder: Path) -> tuple[Floats, Floats]:
    """Raw X and y of a set; the last column is y. A first line of names is skipped; nan counts as 0."""
    path = folder / "uci" / f"{name}.csv.gz"
    path = path if path.exists() else path.with_suffix("")
    content = path.read_bytes()
    if name in SHA256 and path.suffix == ".gz" and hashlib.sha256(content).hexdigest() != SHA256[name]:
        raise ValueError(f"{path.name} is not the file this study was made with: its SHA-256 differs.")
    text = gzip.decompress(content) if path.suffix == ".gz" else content
    first = text[: text.index(b"\n")].split(b",")[-1]
    table = np.loadtxt(io.BytesIO(text), delimiter=",", ndmin=2, skiprows=int(not _number(first)))
    table = np.nan_to_num(table, nan=0.0)  # as the paper's code does
    return table[:, :-1], table[:, -1]


def _number(text: bytes) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def prepare(X: Floats, y: Floats) -> tuple[Floats, Floats]:
    """wang2018's preprocessing: z-scores of X, rows shortened or stretched to norm 1, y divided by max abs y.

    It reads means, deviations and maxima off the data, so it is **not private** (erratum E18): studies only.
    """
    sd = X.std(axis=0)
    Z = (X - X.mean(axis=0)) / np.where(sd > 0, sd, 1.0)
    norms = np.linalg.norm(Z, axis=1, keepdims=True)
    return Z / np.where(norms > 0, norms, 1.0), y / np.abs(y).max()


def delta(n: int) -> float:
    """wang2018's delta for n rows."""
    return min(1e-6, 1 / n**2)


def splits(n: int, count: int, seed: int = 0) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Random 90/10 splits into training and test rows."""
    for split in range(count):
        order = np.random.default_rng([seed, split]).permutation(n)
        test = max(1, round(n / 10))
        yield order[test:], order[:test]
