"""The papers' mechanisms: one folder each, in which the level of a file follows from its name.

``event.py`` says what was released and what it costs (as `privacy`), ``release.py`` draws it (as `gate`), ``loss.py``
says what it cost each row (as `per_instance`), ``density.py`` which density it has, for audits (as `audit`); a word
before it tells several of a kind apart, as in ``adaptive_event.py``. All other files are on the level of this folder:
``estimator.py`` is what people call.
"""
