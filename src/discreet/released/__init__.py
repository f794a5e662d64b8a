"""The public side: released statistics and what can be solved from them."""
