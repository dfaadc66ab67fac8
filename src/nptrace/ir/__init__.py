"""The graph that a trace builds: nodes, scopes, constant folding; programs in SSA form."""
