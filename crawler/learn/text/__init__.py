"""What pages say: blocks of text, what stays of them on a site, and the one comparison."""
