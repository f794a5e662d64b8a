"""Passes on a device of PyTorch: its arrays, and the device with its totals and its batches."""
