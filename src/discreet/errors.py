r"""The exceptions that discreet raises, and the escaping of text that they quote.

::

    DiscreetError
    ├── ParameterError (ValueError)      an argument that cannot be used: what, why, how to fix it
    │   └── MissingPackageError          a package that is not installed is needed: how to install it
    ├── DomainError (ValueError)         bounds or levels missing, inverted, infinite, duplicated
    ├── DataError (ValueError)           the data do not fit the declared domain (the column is named, never a value)
    │   └── DataTypeError (TypeError)    the data are of a kind that cannot be read: sparse, or objects for numbers
    ├── FileFormatError (ValueError)     a schema, release or moments file is damaged, edited or of another kind
    ├── GuaranteeError                   a release would not keep its promise, or a certificate does not add up
    ├── BudgetError                      a release would exceed its budget, or cannot be accounted for
    │   └── LedgerError                  a ledger cannot be read or written, or is not as it must be
    └── NotReleasedError (KeyError)      the statistic asked for was not part of the release

    DiscreetWarning (UserWarning)        a choice that is legal and probably not wanted
    └── NoIntervalWarning                a release that will hardly give intervals; told before anything is spent

No message quotes a data value, a row or an exact count. Names, levels, files and arguments that a message quotes are
escaped, so that they cannot harm the reader's terminal.
"""

from __future__ import annotations

MISSING = (
    "leave out those rows by missing='drop', in Domain or above [columns] in a schema, or fill them before the release"
)
"""Advice on missing values in a fit."""

FILL = "fill them, or leave out those rows, before you predict"
"""Advice on missing values in a prediction, where no row can be dropped."""


def printable(text: str) -> str:
    r"""Return text with all unprintable characters escaped, line breaks included.

    Names, levels and units are public, and anybody may have chosen them: a file can hold any. Characters are escaped if
    Python's own `repr` escapes them, by the Unicode categories behind `str.isprintable`:

    * control characters (Cc), which move the cursor, clear the screen or break lines;
    * format characters (Cf): marks, overrides and isolates that turn the direction of what follows, and characters of
      no width, which make two names look alike. Joiners, which some scripts use inside words, are among them: a name
      with one stays readable, and shows that there is one;
    * lone surrogates (Cs), which no terminal or file can be sent, and characters for private use or not assigned (Co,
      Cn), which look different, or like nothing, from one reader to the next;
    * separators (Z) other than the space.

    A backslash stays as it is, so text that was escaped is not changed when it is escaped again.

    Examples
    --------
    >>> print(printable("income\x1b[2J"), printable("a\n\u202eb"), printable("Größe (m²)"))
    income\x1b[2J a\n\u202eb Größe (m²)
    """
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)


class _Printable(Exception):  # noqa: N818
    """An exception with a message of one or more lines; line breaks inside a line are escaped."""

    def __init__(self, *lines: str) -> None:
        super().__init__(*map(printable, lines))

    def __str__(self) -> str:
        return "\n".join(self.args)


class DiscreetError(_Printable):
    """Base class of every exception of this package."""


class ParameterError(DiscreetError, ValueError):
    """An argument has a value that cannot be used."""


class MissingPackageError(ParameterError):
    """A package is needed that is not installed."""


class DomainError(DiscreetError, ValueError):
    """The public facts about the columns are missing or contradictory."""


class DataError(DiscreetError, ValueError):
    """The data do not fit the declared domain."""


class DataTypeError(DataError, TypeError):
    """The data are of a kind that cannot be read."""


class FileFormatError(DiscreetError, ValueError):
    """A file is damaged, edited or not of the expected kind."""


class GuaranteeError(DiscreetError):
    """A privacy guarantee would not hold."""


class NotReleasedError(DiscreetError, KeyError):
    """A statistic was asked for that the release does not hold."""


class DiscreetWarning(_Printable, UserWarning):
    """A choice that is valid but probably unintended."""


class NoIntervalWarning(DiscreetWarning):
    """No interval is likely with this number of rows, coefficients and epsilon; nothing has been spent yet.

    ``warnings.simplefilter("error", NoIntervalWarning)`` makes it an exception, which stops a fit before it spends.
    """


class BudgetError(DiscreetError):
    """A release would exceed its budget, or cannot be accounted for."""


class LedgerError(BudgetError):
    """A ledger cannot be read or written, or is damaged."""
