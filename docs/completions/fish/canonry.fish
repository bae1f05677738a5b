# Completion of canonry in fish, which reads this at the first TAB.
canonry completion fish | source
