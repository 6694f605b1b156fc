"""The core tools: plan, ask, look back, end. Every worker has them."""
