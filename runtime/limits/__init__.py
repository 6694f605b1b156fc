"""What a task may do and spend: autonomy, credits, and the guard that decides by both."""
