"""Generation: works that outside services make, from the order to the filed output."""
