"""An embedded server for Inngest functions, independent of the rest of the project."""
