"""Lets ``python -m penstock`` do what ``penstock`` does."""

from .cli import main

raise SystemExit(main())
