"""The types of the Kubernetes API, and the decoding of request bodies by them.

`table` has the field tree; `decoding` and `protobuf_decoding` turn request bodies into plain dicts;
`canonical` gives these the form that Go's encoder would; `openapi` and `openapi_v2` describe the
types to clients; `custom_schema` adds the schemas of custom resource definitions to the same tree,
and `structural` decodes custom resources.
"""
