"""From a graph to a program in SSA form, and what is done to it before it is emitted."""
