"""Informers: local stores of watched objects, kept up to date."""
