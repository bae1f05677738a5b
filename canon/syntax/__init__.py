"""The syntax of URIs: components, characters, hosts, queries and what is known of each scheme."""
