"""The DynaKat report."""
