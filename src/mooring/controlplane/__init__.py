"""What an API server and its controllers do to objects, as functions of the objects alone."""
