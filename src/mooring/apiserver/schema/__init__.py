"""What the API server knows about the types of the Kubernetes API.

`table` holds the field tree; `protobuf` and `decoding` turn request bodies into plain dicts;
`canonical` gives them the form that Go's encoder would; `openapi` and `openapi_v2` describe them to
clients; `custom` reads the schemas of custom resource definitions into the same tree.
"""
