"""What a person sees and types. Data goes to stdout, everything else to stderr."""
