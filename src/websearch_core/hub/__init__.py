"""The hub, pure half: upstream MCP servers, their tools, and what becomes of their connections.

What is here: the values (`values`), what the hub needs from outside (`ports`), the machine that decides about one upstream's
connection (`lifecycle`) and the window that calms its notices (`window`), names for tools (`names`), which tools there are and
who may see them (`registry`), the search over them (`index`) and the two use cases that face a model (`find`, `call`). What is
not: sockets, processes, the MCP SDK, files. Start reading at `lifecycle`.
"""
