"""How properties are tested: without deadlines, because how long an example takes says nothing about the product."""

from hypothesis import settings

settings.register_profile("fabricc", deadline=None)
settings.load_profile("fabricc")
