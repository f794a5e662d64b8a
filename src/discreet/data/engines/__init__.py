"""Clusters and databases that sum rows where they are stored, with results equal to local ones bit for bit."""
