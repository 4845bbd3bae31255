"""What follows from a scenario before it is played: CPU time, load, periods, times of members."""
