"""What the model is told about tools: definitions, legal names and schemas, the order of the pool. Never runs a tool."""
