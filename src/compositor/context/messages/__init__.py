"""From transcript entries to legal wire messages: local steps with carried state, lanes, and the wire rules."""
