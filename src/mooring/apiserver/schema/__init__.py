"""The decoding of request bodies by the types of the Kubernetes API.

`decoding` and `protobuf_decoding` turn request bodies into plain dicts; `canonical` gives these the
form that Go's encoder would; `openapi` and `openapi_v2` describe the types to clients;
`custom_schema` adds the schemas of custom resource definitions to the field tree, and `structural`
decodes custom resources.
"""
