"""Attacks on our own releases: lower bounds on epsilon, to compare with the epsilon that certificates promise."""

from discreet.audit.attack import audit
from discreet.audit.paths import PATHS
from discreet.audit.result import Audit
from discreet.audit.subjects import Subject, subject_of
from discreet.audit.tables import Neighbours

__all__ = ["PATHS", "Audit", "Neighbours", "Subject", "audit", "subject_of"]
