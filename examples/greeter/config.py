"""Where the greeter listens."""

HOST = 'localhost'
PORT = 3000
GREETING = 'Hello'
