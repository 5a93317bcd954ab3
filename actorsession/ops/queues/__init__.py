"""What values wait in between steps: queues, barriers, accumulators, staging areas."""
