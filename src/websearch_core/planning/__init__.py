"""Planning a search in six recorded steps, and running the plan.

`values` are the steps as a caller sends them and the plan they add up to; `order` judges dependencies and orders the work;
`record` keeps the steps of a session; `run` carries a complete plan out under one deadline. Start with `values`.
"""
