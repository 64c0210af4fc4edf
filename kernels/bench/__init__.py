"""The operators' table: ours and each installed peer side by side in one process (`python -m trivium.kernels.bench`).

One idea a file: `case` (what an operator brings), `operators/` (one file an operator), `peers/` (one file a library),
`oracle` (errors against fp64), `measure` (times, memory, the machine's limits), `launches` (kernels of a pass, waits),
`accuracy` (hard cases), `cold` (first calls), `report` (the JSON), `targets` and `check` (pass or fail), `page` and
`table` (for readers).
A new operator is one file in `operators/` and one line in its registry.
"""
