"""What is tested: Umi's memory, or another store, behind one small protocol."""
