"""Where rows come from: arrays, frames, tables, files, queries and streams; one reader a kind."""
