"""HTTP API of the engine: Inngest's endpoints for SDKs and readers, and the test clock."""
