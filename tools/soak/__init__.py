"""The soak: what no fixed test tries, with new seeds each time, for as long as one likes."""
