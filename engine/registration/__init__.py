"""Registration: check and store the functions of an app."""
