"""Three models of contact side by side: our own question, after de Paula et al. 2024."""
