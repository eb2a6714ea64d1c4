"""What a run or a failure came to, told for people and for programs."""
