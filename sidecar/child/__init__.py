"""The process that serves one version of one skill: it holds no key and trusts only the sidecar."""
