"""Modules that need a package which is not there have no examples to run."""

from importlib.util import find_spec

collect_ignore = [] if find_spec("torch") else ["src/discreet/data/device/arrays.py"]
