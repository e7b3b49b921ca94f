"""Other clients beside the product, each measured from outside: what it sends to a service on this machine, and when."""
