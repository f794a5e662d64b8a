"""Passes over a table: functions from rows to integer sums, which can be sent to where the rows are."""
