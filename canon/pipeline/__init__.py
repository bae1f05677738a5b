"""The pipeline: from text to identity and key under one policy, with fast paths and traces."""
