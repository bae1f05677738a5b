"""What can be changed from the page: a transaction on the store, a module for each subject."""
