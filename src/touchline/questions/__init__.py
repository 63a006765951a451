"""What must go to a person: one question, kept until it is answered, whoever dies meanwhile."""
