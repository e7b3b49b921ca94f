"""Greets people by name."""


def greet(name: str) -> str:
    """A greeting for `name`; people without a name are greeted as a stranger."""
    if not name.strip():
        return "Hello, stranger!"
    return f"Hello, {name.strip()}"


def greet_all(names: list[str]) -> list[str]:
    """One greeting for each name, in order."""
    return [greet(name) for name in names]
