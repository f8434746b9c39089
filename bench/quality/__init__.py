"""The evaluation kit: a generated web, what finds and reads its pages, and what is measured on it. No network, no model.

- `phrases`, `web`: questions in six languages, the pages around them, and which of them answer.
- `finder`, `host`: two search engines under a metasearch, and all pages, on one loopback port.
- `stand_in`: a reader that answers from what it is given alone.
- `metrics`: nDCG, duplicates, tokens and bounds by the bootstrap.
- `product`: the product's own container, pointed at that port.
- `ranking`, `several`, `evidence`, `survival`, `feeding`, `neighbours`: the measurements; each prints its table.
- `injections`: forged fences and orders to models.
"""
