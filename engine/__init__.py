"""An embedded server for Inngest functions; imports nothing of ours."""
