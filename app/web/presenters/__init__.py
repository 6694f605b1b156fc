"""What leaves the API: rows as the JSON of the published shapes."""
