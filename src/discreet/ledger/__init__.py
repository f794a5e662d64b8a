"""What was spent on whom: accounts that outlive the process, and budgets within one."""

from discreet.ledger.accounts import Account, Ledger

__all__ = ["Account", "Ledger"]
