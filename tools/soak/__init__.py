"""The soak test: random trials with new seeds each time, for as long as one likes."""
