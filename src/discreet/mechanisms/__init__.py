"""The papers' mechanisms, one folder each; the import layer of a file follows from its name.

``event.py`` describes the release and its cost (as `privacy`), ``release.py`` draws it (as `gate`), ``loss.py``
computes the loss of each row (as `per_instance`), ``density.py`` its density, for audits (as `audit`); a word
in front distinguishes several of a kind, as in ``adaptive_event.py``. All other files are in the layer of this folder:
``estimator.py`` has the estimator.
"""
