"""A stand-in for the Messages API: its wire rules, its prompt cache and a script that plays the model.

Knows nothing of the product's own rules or compilation: it judges a request as the documented service would. `core.py` is pure;
`transport.py` joins it to the HTTP client, in process and without a socket.
"""
