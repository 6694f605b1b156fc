"""Orders: what is asked for, its draft, row, states, bill, lease and end."""
