"""What every route of the web process shares: authorization, input, idempotency, paging and problems."""
