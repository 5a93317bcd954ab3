"""Device types that come with the library beside the CPU; entry points name them, and nothing else imports them."""
