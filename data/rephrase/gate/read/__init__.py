"""What is read from a text before two of them are compared; nothing here knows of pairs."""
