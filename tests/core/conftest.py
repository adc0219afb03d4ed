from hypothesis import settings

# the first example of a test may have to compile a kernel, which no deadline allows for
settings.register_profile("core", deadline=None)
settings.load_profile("core")
