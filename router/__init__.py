"""Router: decide which task a message belongs to, and deliver it there."""
