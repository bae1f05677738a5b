"""The grammars of five documents, each a table of productions in the document's order."""
