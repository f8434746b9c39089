"""Web search as a library: pure values, use cases and ports, free of any framework.

What is here: the questions and answers (`values`), the ports to the outside (`ports`), the policies (`retry`, `merge`,
`budget`, …) and the use cases (`search`, `fetch`, `map`, `sources`, `doctor`). What is not: HTTP, vendors, MCP, files.
Start reading at `search`; fakes for tests are in `websearch_core.testing`.
"""
