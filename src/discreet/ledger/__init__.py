"""Privacy accounting: ledgers of accounts that outlive the process, and budgets within one process."""

from discreet.ledger.accounts import Account, Ledger

__all__ = ["Account", "Ledger"]
