"""What the rows of one group tell, one behind the other: members, generations, progress."""
