"""Formats of Inngest's protocol: times and durations, cron, ids, JSON text, signatures."""
