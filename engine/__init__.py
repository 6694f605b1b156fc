"""An embedded server for Inngest functions; of the rest of the project it imports only `core.sql`."""
