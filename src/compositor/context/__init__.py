"""The context line: what the model knows. Pure; never decides what can happen."""
