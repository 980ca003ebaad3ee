"""What guides a situation: context files, their inheritance and rules, and instruction files."""
