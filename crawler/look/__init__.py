"""How texts of others look on our pages: whole, harmless, and in the style that all pages share."""
