"""What every other folder stands on: checks, files, progress, threads."""
