"""One supervisor for all processes of a product on one machine."""
