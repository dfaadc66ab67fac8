"""The demo: two robots walk in footfall and in MuJoCo, and the trot of a paper is reproduced."""
