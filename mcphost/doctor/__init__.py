"""What is well and what is not, before anything goes wrong: checks, each with how to mend what it finds."""
