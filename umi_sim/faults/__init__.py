"""What can go wrong, place by place: when a fault strikes, and what it does."""
