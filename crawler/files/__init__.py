"""Files of URLs: input formats, compression, tables and output."""
