"""`python -m compositor` is the command `compositor`."""

from compositor.cli.main import main

main()
