"""State that holds values between steps: queues, barriers, accumulators, staging areas."""
