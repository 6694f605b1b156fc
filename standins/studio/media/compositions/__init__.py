"""Compositions of a poster, one a file: each draws a whole sheet and says where its title goes."""
