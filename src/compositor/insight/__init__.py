"""Pure analysis of recorded requests and transcripts: where two requests part, what a session cost."""
