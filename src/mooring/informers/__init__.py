"""What is watched, kept at hand: stores, and the informers that fill them."""
