"""What is made elsewhere: orders, quotes, providers."""
