"""Whether plans foretell what comes out, how their defaults were chosen, and the pictures of the theory."""
