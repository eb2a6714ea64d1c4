"""What is tested: Umi's memory, or somebody else's store, behind one small protocol."""
