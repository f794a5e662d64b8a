r"""Text for people's eyes. Names, levels and units are public, and anybody may have chosen them: a file can hold any.

What is escaped is what Python's own `repr` escapes, by the Unicode categories behind `str.isprintable`:

* control characters (Cc), which move the cursor, clear the screen or break lines;
* format characters (Cf): marks, overrides and isolates that turn the direction of what follows, and characters of no
  width, which make two names look alike. Joiners, which some scripts use inside words, are among them: a name with
  one stays readable, and shows that there is one;
* lone surrogates (Cs), which no terminal or file can be sent, and characters for private use or not assigned (Co, Cn),
  which look different, or like nothing, from one reader to the next;
* separators (Z) other than the space.

A backslash stays as it is, so text that was escaped is not changed when it is escaped again.
"""

from __future__ import annotations


def printable(text: str) -> str:
    r"""The text with everything escaped that is not meant to be seen, line breaks too.

    Examples
    --------
    >>> print(printable("income\x1b[2J"), printable("a\n\u202eb"), printable("Größe (m²)"))
    income\x1b[2J a\n\u202eb Größe (m²)
    """
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)
