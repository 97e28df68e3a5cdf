"""Chat models: the embedded one that quotes, and the providers' by name."""
