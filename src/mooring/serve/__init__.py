"""The secure port: health, metrics, configuration, and who may read them."""
