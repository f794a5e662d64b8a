"""Statistics that are released with Gaussian noise, one per file; files and budgets refer to each by name.

Every file of this folder is imported, so that a new statistic is a new file and nothing else.
"""

from importlib import import_module
from pkgutil import iter_modules

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")
