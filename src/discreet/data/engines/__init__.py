"""Where rows are that stay where they are: clusters and databases that sum them up, to the same bits as here."""
