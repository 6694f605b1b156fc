"""Views: the handlers of the pages and the queries they need."""
