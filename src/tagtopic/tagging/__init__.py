"""Questions about tags: prediction, audit, near-duplicates, explanations and rankings."""
