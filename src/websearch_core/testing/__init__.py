"""For tests of this library and of what is built on it: fakes, contract suites, hypothesis strategies.

`fakes` needs nothing but the standard library; `contracts` needs pytest and anyio's plugin, `strategies` needs hypothesis:
both come with the extra `testing`. Nothing here is imported by the product. Start with `contracts`: the suite of your port.
"""
