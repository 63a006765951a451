"""What survives a crash? Durable workflows, queues and timers behind a port of our own."""
