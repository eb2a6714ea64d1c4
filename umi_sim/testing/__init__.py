"""The simulator inside other people's tests: pytest, Hypothesis, conformance kits, exported tests."""
