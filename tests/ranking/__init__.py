"""Questions with a right answer, asked of small projects of our own: whether the ranking still tastes right.

`make rank-check` asks them in a few seconds; `benchmarks/rank_table.py` says which of them notices which constant.
"""
