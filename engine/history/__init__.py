"""Reading what happened; nothing here changes anything."""
