"""Model services: one file a service, each a `ports.ModelTransport`; and the credentials they send."""
