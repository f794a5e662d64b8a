"""Sources of rows: arrays, frames, tables, files, queries and streams; one reader for each kind."""
