"""Tables and helpers that several test files share."""

import traceback

import numpy as np
import pyarrow as pa

from discreet.data.tables import open_source
from discreet.domain.encoding import ONE, Encoder


def encode(domain, columns):
    """Encoded rows of an Arrow table or of a mapping to columns: lattice integers, held in float64."""
    table = columns if isinstance(columns, pa.Table) else pa.table(columns)
    source, encoder = open_source(table, domain), Encoder(domain)
    rows = [np.empty((0, len(domain.entries)))]
    for part in source.parts(8192):
        for batch in part:
            A = encoder.empty(batch.num_rows)
            A = A[: source.fill(batch, A, encoder)]
            encoder.finish(A)
            rows.append(A)
    return np.concatenate(rows)


def unit_rows(domain, columns):
    """Encoded rows in units of the mapped columns."""
    return encode(domain, columns) / ONE


def full_text(error):
    """Everything that a traceback prints, chained exceptions included."""
    return "".join(traceback.format_exception(error))
