"""A stand-in for the Messages API: its wire rules, its prompt cache, its thinking signatures, and a script that plays the model.

Knows nothing of the product's own rules or compilation: it judges a request as the documented service would. `core.py` is the pure
heart; `transport.py` joins it to the HTTP client without a socket, `asgi.py` and `server.py` put it on a port.
"""
