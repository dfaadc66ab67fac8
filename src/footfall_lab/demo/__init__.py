"""The first thing to run: two robots walk in footfall and in MuJoCo, and a paper's trot is run again."""
