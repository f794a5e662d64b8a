"""What one reading of a table sums up, as functions from rows to integers that can be sent to where rows are."""
