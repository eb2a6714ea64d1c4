"""One run as a JSON file that replays anywhere, and the collection of kept ones."""
