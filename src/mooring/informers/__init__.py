"""What is watched, kept at hand: stores now, and what fills them."""
