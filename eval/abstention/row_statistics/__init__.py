"""What metrics need of the rows of a shard, kept beside them so that they are read once."""
