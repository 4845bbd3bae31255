"""Files that leave: each is whole, or it is not there."""
