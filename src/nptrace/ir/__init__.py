"""The graph that a trace builds: nodes, scopes, folding, derivative rules."""
