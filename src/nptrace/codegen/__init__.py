"""A program as NumPy calls, LLVM IR, C, CUDA, or readable text."""
