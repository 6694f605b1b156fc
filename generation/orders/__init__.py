"""Orders: request, draft, row, states, bill, lease and end."""
