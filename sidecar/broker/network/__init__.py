"""The broker's way to the network: checked addresses, bounded requests, masked secrets."""
