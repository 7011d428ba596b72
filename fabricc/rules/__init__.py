"""Rules of one switch and of several: each is defined once, and `check`, `audit` and `diff` run all of them."""
