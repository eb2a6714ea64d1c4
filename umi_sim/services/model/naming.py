"""Task name_subcategory: the two words that the facts have most in common."""

from umi_sim.services.model.prompts import Inputs, whole


def name_subcategory(given: Inputs) -> str:
    words = given.get("keywords")
    texts = [whole(word) for word in (words if isinstance(words, list) else ()) if isinstance(word, str)]
    return " ".join(texts[:2]) or "Others"
