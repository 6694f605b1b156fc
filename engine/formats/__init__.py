"""Formats of Inngest's protocol: times, durations, cron expressions, ids, JSON text and signatures."""
