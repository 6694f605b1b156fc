"""The process that serves one version of one skill. It knows no key of ours and trusts nobody but the sidecar."""
