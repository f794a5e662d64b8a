"""Utilities that all other folders use: parameter checks, files, memory, threads."""
