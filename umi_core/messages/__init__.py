"""The closed vocabularies: requests and replies, effects and answers."""
