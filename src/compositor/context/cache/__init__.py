"""The prompt cache as a contract: where breakpoints stand. Never changes a byte of content."""
