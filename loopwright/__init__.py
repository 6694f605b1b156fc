"""What packages that extend Loopwright import: a stable door to the few names they need."""
