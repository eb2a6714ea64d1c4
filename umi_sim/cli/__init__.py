"""The commands of `umi-sim`: options in, a report out."""
